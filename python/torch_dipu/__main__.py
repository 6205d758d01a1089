# SPDX-License-Identifier: Apache-2.0
"""`python -m torch_dipu`: what is installed, what works, and why not."""

from __future__ import annotations

import os
import sys
import warnings

_USAGE = """\
usage: python -m torch_dipu [COMMAND]

Prints the installed vendors and the devices of the one that is loaded, and why
a vendor does not load or has no device. The status is 1 when the settings ask
for what cannot be had, such as a vendor that does not load.

  compare     sum up a log of autocompare, or find where two runs part
  doctor      examine the installation; each finding has a cause and a cure
  env         print the reference of environment variables
  ops         print which operators run on the device, and which on the CPU
  replay      repeat a call that autocompare has saved
  -h, --help  print this
"""


def _size(count: int) -> str:
    return f"{count / 2**30:.2f} GiB"


def _print_vendors(console, table_class) -> None:  # type: ignore[no-untyped-def]
    from torch_dipu import _load, _vendors

    candidates = _vendors.installed()
    path = os.environ.get("DIPU_VENDOR_LIBRARY", "")
    if path:
        source = "DIPU_VENDOR_LIBRARY"
        candidates.append(_vendors.Candidate("", os.path.abspath(path), source))
    if not candidates:
        console.print("vendors: none installed (pip install torch_dipu_<vendor>)")
        return
    table = table_class(title="vendors", title_justify="left")
    for column in ("name", "version", "ABI", "kind", "devices", "from", "file"):
        table.add_column(column, overflow="fold")
    problems = []
    for candidate in candidates:
        probe = _vendors.probe(candidate)
        info = probe.info
        name = candidate.name or str(info.get("name", "?"))
        kind = "simulated" if info.get("simulated") else "real"
        table.add_row(
            name,
            str(info.get("version", "-")),
            str(info.get("abi", "-")),
            kind if info else "-",
            str(probe.devices),
            candidate.source,
            candidate.path or "-",
        )
        # The failure of the vendor that was asked for ends the report.
        if probe.error and probe.error not in _load.failure():
            what = "no device" if info else "does not load"
            problems.append(f"{what}: {name}: {probe.error}")
    console.print(table)
    for problem in problems:
        console.print(problem, markup=False)


def _print_devices(console, table_class) -> None:  # type: ignore[no-untyped-def]
    import torch

    import torch_dipu

    info = torch_dipu.vendor_info()
    if not info:
        console.print("no vendor is loaded")
        return
    console.print(f"loaded: {info['name']} {info['version']}, {info['file']}")
    if not torch.dipu.is_available():  # type: ignore[attr-defined]
        console.print(f"no device: {torch_dipu._C._unavailable_reason()}", markup=False)
        return
    table = table_class(title="devices", title_justify="left")
    for column in ("device", "name", "memory", "free"):
        table.add_column(column)
    for index in range(torch.accelerator.device_count()):
        free, total = torch.accelerator.get_memory_info(index)
        name = torch.dipu.get_device_name(index)  # type: ignore[attr-defined]
        table.add_row(f"dipu:{index}", name, _size(total), _size(free))
    console.print(table)
    report = torch_dipu.ops_report()
    found = sum(state == "found" for state in report.values())
    console.print(f"operator functions: {found} of {len(report)} found")


def main(argv: list[str]) -> int:
    """Prints what is asked for.

    Returns:
        The status: 1 when the settings ask for what cannot be had, 2 for wrong
        arguments.
    """
    if argv[:1] == ["doctor"]:
        from torch_dipu import _doctor

        return _doctor.main(argv[1:])
    from torch_dipu import _env, _load

    if argv[:1] in (["compare"], ["replay"]):
        from torch_dipu.debug import commands

        return getattr(commands, argv[0])(argv[1:])
    if argv == ["env"]:
        print(_env.markdown(), end="")
        return 0
    if argv in (["-h"], ["--help"]):
        print(_USAGE, end="")
        return 0
    if argv == ["ops"]:
        from torch_dipu import _operator_report

        return _operator_report.main()
    if argv:
        print(_USAGE, end="", file=sys.stderr)
        return 2
    import torch
    from rich.console import Console
    from rich.table import Table

    import torch_dipu

    warnings.simplefilter("ignore")
    console = Console(highlight=False)
    console.print(f"torch_dipu {torch_dipu.__version__}, torch {torch.__version__}")
    _print_vendors(console, Table)
    _print_devices(console, Table)
    if failure := _load.failure():
        print(failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
