# SPDX-License-Identifier: Apache-2.0
"""`python -m torch_dipu doctor`: is the installation whole, and if not, why?

Nothing that could end or stop a process happens in the doctor's own: it imports
neither torch nor a vendor. See process.py and child.py.
"""

from __future__ import annotations

import argparse
import json

from torch_dipu._doctor import package, printer, settings, vendors
from torch_dipu._doctor.process import Runner
from torch_dipu._doctor.report import Report
from torch_dipu._version import __version__

_LIMIT_S = 30.0
_MOST_S = 1e6


def examine(limit: float) -> Report:
    """Examines the installation.

    Args:
        limit: Seconds that a step of a vendor may take.
    """
    report = Report(__version__)
    runner = Runner(limit, settings.accepted())
    host = runner.run("host")
    with report.section("package", f"torch_dipu {__version__}") as section:
        package.check(section, host)
    with report.section("torch", "PyTorch") as section:
        package.check_torch(section, host, runner)
    found: list[vendors.Vendor] = []
    chosen = None
    with report.section("choice", "choice of the vendor") as section:
        found = vendors.find(runner, loads="abi" in host.results)
        chosen = vendors.choose(section, found)
    for vendor in found:
        title = f"vendor {vendor.name}" + (", chosen" if vendor is chosen else "")
        with report.section(f"vendor.{vendor.name}", title) as section:
            vendors.check(section, vendor, runner, vendor is chosen)
    with report.section("settings", "settings") as section:
        names = [vendor.name for vendor in found]
        unmatched = vendors.unmatched(chosen)
        settings.check(section, names, host.results.get("refused", ""), unmatched)
    return report


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if 0 < value <= _MOST_S:
        return value
    raise argparse.ArgumentTypeError(f"{text}: use a number of seconds, such as 10")


def main(argv: list[str]) -> int:
    """Examines the installation and prints what was found.

    Returns:
        The status: 0 when all is well, 1 with findings; argparse ends the process
        with 2 for wrong arguments.
    """
    parser = argparse.ArgumentParser(
        prog="python -m torch_dipu doctor",
        description="Examines the installation: files, libraries, versions, devices "
        "and settings. Each finding has a cause and a cure; the status is 1 when "
        "there is one.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=_LIMIT_S,
        metavar="SECONDS",
        help=f"how long a step of a vendor may take; {_LIMIT_S:g} by default",
    )
    options = parser.parse_args(argv)
    report = examine(options.timeout)
    if options.json:
        print(json.dumps(report.as_dict(), indent=2))
    else:
        printer.show(report)
    return 1 if report.findings else 0
