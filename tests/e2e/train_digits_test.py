# SPDX-License-Identifier: Apache-2.0
"""The example learns, without fallback, and as it does on the CPU."""

import json
import pathlib
import subprocess
import sys

import pytest

EXAMPLE = "examples/train_digits.py"


def train(device: str, path: pathlib.Path) -> dict:
    command = [sys.executable, EXAMPLE, f"--device={device}", f"--json={path}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(path.read_text()) | {"output": done.stdout}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return {d: train(d, folder / f"{d}.json") for d in ("dipu", "cpu")}


def test_it_learns(runs):
    assert runs["dipu"]["accuracies"][-1] >= 0.97
    assert runs["dipu"]["losses"][-1] < runs["dipu"]["losses"][0] / 10


def test_nothing_fell_back(runs):
    assert runs["dipu"]["fallbacks"] == {}
    assert "fell back to the CPU: none" in runs["dipu"]["output"]


def test_losses_agree_with_the_cpu(runs):
    for ours, cpu in zip(runs["dipu"]["losses"], runs["cpu"]["losses"], strict=True):
        assert ours == pytest.approx(cpu, abs=1e-3)


def test_it_names_the_device(runs):
    assert "dipu" in runs["dipu"]["output"].splitlines()[0]
    assert "droplet" in runs["dipu"]["output"].splitlines()[0]
