# SPDX-License-Identifier: Apache-2.0
"""`python -m torch_dipu doctor` on vendors with illnesses."""

from __future__ import annotations

import json
import pathlib
import shutil
from typing import Any

import pytest

from tests.debug.doctor.site_packages import NULL, Site, dist_without, only

BAD = pathlib.Path("core/loader/tests").absolute()


def test_every_vendor_is_examined_and_the_chosen_one_is_marked(site: Site) -> None:
    site.droplet()
    site.add("null", NULL)
    site.add("alpha", BAD / "libalpha_vendor.so")
    done = site.run("--json", TEST_VENDOR_CARDS="0")
    sections = {s["name"]: s for s in json.loads(done.stdout)["sections"]}
    titles = [s["title"] for name, s in sections.items() if name.startswith("vendor.")]
    assert titles == ["vendor alpha", "vendor droplet, chosen", "vendor null"]
    assert sections["vendor.null"]["facts"]["contract"] == "1.1"
    for name in ("vendor.alpha", "vendor.null"):  # nobody has asked for them
        operators, devices = sections[name]["notes"]
        assert operators.startswith("no operators: ")
        assert devices.endswith(" found no device")
    assert done.returncode == 0
    assert sections["vendor.droplet"]["data"]["functions"]["diopiAdd"] == "found"


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """Findings of an installation in which every vendor has another illness."""
    folder = tmp_path_factory.mktemp("broken")
    (folder / "site").mkdir()
    site = Site(folder / "site")
    text = folder / "text.so"
    text.write_text("hello")
    open_file = folder / "open.so"
    shutil.copyfile(NULL, open_file)
    open_file.chmod(0o777)
    damaged = dist_without(folder / "damaged", "libdiopi_impl.so")
    (damaged.parent / "libdiopi_impl.so").write_text("hello")
    site.add("absent", folder / "absent.so")
    site.add("text", text)
    site.add("open", open_file)
    site.add("damaged", damaged)
    site.add("lacking", BAD / "libmissing_dependency.so")
    site.add("halved", dist_without(folder / "halved", "libtangrt_shared.so"))
    site.add("major", BAD / "libwrong_major.so")
    site.add("later", BAD / "liblater_revision.so")
    site.add("lost", BAD / "liblost_operators.so")
    site.add("silent", BAD / "libsilent_revision.so")
    site.add("raising", text, body="raise RuntimeError('no SDK here')")
    site.add("quitting", text, body="import os; os._exit(0)")
    for name in ("crashing", "hanging", "leaving", "rude_vendor"):
        site.add(name, BAD / f"lib{name}.so")
    return site.findings("--timeout=20", DIPU_DEVICE="nosuch")


# Vendor -> check, part of the cause, part of the cure.
ILLNESSES = {
    "absent": (
        "vendor.library",
        "absent.so: the file does not exist",
        "correct the path",
    ),
    "text": (
        "vendor.library",
        "not a shared object (no ELF header)",
        "its package anew",
    ),
    "open": ("vendor.library", "every user of this machine can change it", "chmod o-w"),
    "lacking": ("vendor.library", "it needs libgone.so", "add its folder to LD_"),
    "halved": ("vendor.library", "it needs libtangrt_shared.so", "LD_LIBRARY_PATH"),
    "major": (
        "vendor.library",
        "built for version 2.3 of the vendor contract, this host has 1.1",
        "Install releases of torch_dipu and of the vendor's package that belong",
    ),
    "damaged": (
        "vendor.operators",
        "libdiopi_impl.so: the file is not a shared object",
        "its package anew",
    ),
    "lost": (
        "vendor.operators",
        "libnowhere.so: the file does not exist",
        "Install the vendor's package",
    ),
    "later": (
        "vendor.operators",
        "built for revision 2 of the DIOPI signatures, this host knows up to 1",
        "Upgrade torch_dipu",
    ),
    "silent": (
        "vendor.functions",
        "does not declare its revision of the DIOPI signatures",
        "Set DIPU_DIOPI_REVISION=1 to confirm it",
    ),
    "crashing": (
        "vendor.crash",
        "the process was ended by SIGSEGV (Segmentation fault) "
        "in the step 'start the SDK and count the devices'",
        "report it to the vendor",
    ),
    "hanging": (
        "vendor.hang",
        "the step 'start the SDK and count the devices' did not end within 20 s",
        "give it more time with --timeout",
    ),
    "leaving": ("vendor.crash", "ended itself with status 0 in the step", "report it"),
    "rude_vendor": (
        "vendor.devices",
        "reports 5000 devices, 0 to 1024 are possible",
        "Check with the vendor's own tools that the driver runs",
    ),
    "raising": (
        "vendor.entry_point",
        "torch_dipu_raising:library_path failed: RuntimeError: no SDK here",
        "Install its package anew, or uninstall it",
    ),
    "quitting": (
        "vendor.entry_point",
        "failed: the process ended itself with status 0",
        "Install its package anew, or uninstall it",
    ),
}


@pytest.mark.parametrize("name", ILLNESSES)
def test_a_broken_vendor(broken: dict[str, list[dict[str, Any]]], name: str) -> None:
    check, cause, cure = ILLNESSES[name]
    finding = next(f for f in broken[f"vendor.{name}"] if f["check"] == check)
    assert cause in finding["cause"]
    assert cure in finding["cure"]


def test_functions_under_cxx_names_are_found(
    broken: dict[str, list[dict[str, Any]]],
) -> None:
    causes = [finding["cause"] for finding in broken["vendor.silent"]]
    assert any("under C++ names only, diopiAbs" in cause for cause in causes), causes


def test_the_folders_that_were_searched_are_told(
    broken: dict[str, list[dict[str, Any]]],
) -> None:
    (finding,) = broken["vendor.halved"]
    details = [line.strip() for line in finding["details"]]
    assert details[0] == "missing: libtangrt_shared.so, searched in"
    own = [line for line in details if "/halved (RUNPATH from file " in line]
    assert len(own) == 1, details
    assert "/etc/ld.so.cache" in details
    assert any(line.endswith("(system search path)") for line in details)


def test_a_name_that_is_no_vendor(broken: dict[str, list[dict[str, Any]]]) -> None:
    (finding,) = broken["choice"]
    assert "DIPU_DEVICE='nosuch': there is no such vendor" in finding["cause"]
    assert "absent" in finding["cause"]
    assert finding["cure"].startswith("Set DIPU_DEVICE to ")


def test_what_a_crashing_vendor_printed_is_told(
    broken: dict[str, list[dict[str, Any]]],
) -> None:
    (crash,) = (f for f in broken["vendor.crashing"] if f["check"] == "vendor.crash")
    assert "printed: the card is on fire" in crash["details"]
    assert "choose another vendor with DIPU_DEVICE" in crash["cure"]


def test_no_device_and_no_operators(site: Site) -> None:
    site.add("null", NULL)
    (findings,) = site.findings(DIPU_DEVICE="null").values()
    operators, devices = findings
    assert operators["check"] == "vendor.operators"
    assert "the vendor offers no operator library" in operators["cause"]
    assert operators["cure"] == "Install a release of its package that has one"
    assert devices["check"] == "vendor.devices"
    assert devices["cause"].endswith("found no device")
    assert "that the driver runs" in devices["cure"]


def test_devices_that_do_not_work(site: Site) -> None:
    site.droplet()
    faults = "oom_call=1,times=0,device=0;launch=1,device=1"
    (findings,) = site.findings(SOFTDEVICE_FAULTS=faults).values()
    copy, kernel = findings
    assert copy["check"] == "device.copy"
    assert copy["cause"].startswith("a copy to dipu:0 and back failed: ")
    assert kernel["check"] == "device.kernel"
    assert kernel["cause"].startswith("a sum on dipu:1 failed: ")


def test_a_copy_that_does_not_end(site: Site) -> None:
    site.droplet()
    finding = only(site.findings("--timeout=5", SOFTDEVICE_FAULTS="hang=1,device=0"))
    assert finding["check"] == "vendor.hang"
    assert (
        finding["cause"] == "the step 'copy to dipu:0 and back' did not end within 5 s"
    )
