# SPDX-License-Identifier: Apache-2.0
"""What runs in the processes of a pool. Importing it takes seconds, a fork none."""

from __future__ import annotations

import warnings
from multiprocessing.connection import Connection

import torch

from tests.conformance.differential import catalogue, runner
from tests.conformance.differential.entry import Entry


def serve(connection: Connection) -> None:
    """Does the tasks that come through `connection`; see `pool.Pool`."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    while (task := connection.recv()) is not None:
        result = runner.run(task, connection.send)
        connection.send(result)
        if result.tainted:
            return


def list_entries(connection: Connection) -> None:
    """Sends all entries, and for each the families it belongs to."""
    listed: list[tuple[Entry, list[str]]] = [
        (entry, catalogue.families(entry)) for entry in catalogue.entries()
    ]
    connection.send(listed)
