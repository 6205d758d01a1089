# SPDX-License-Identifier: Apache-2.0
"""`python -m torch_dipu doctor` on whole and on broken installations."""

from __future__ import annotations

import dataclasses
import doctest
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
from typing import Any

import pytest

DROPLET = pathlib.Path("vendors/droplet/dist").absolute()
NULL = pathlib.Path("vendors/null/dist/libdipu_null.so").absolute()
BAD = pathlib.Path("core/loader/tests").absolute()
PAGE = pathlib.Path("docs/debugging.md")


@dataclasses.dataclass(frozen=True)
class Site:
    """A folder with vendors' packages, as pip would leave them."""

    folder: pathlib.Path

    def add(self, name: str, library: pathlib.Path, body: str = "") -> None:
        """Adds a package with the vendor `name`."""
        package = f"torch_dipu_{name}"
        body = body or f"return {str(library)!r}"
        module = self.folder / f"{package}.py"
        module.write_text(f"def library_path():\n    {body}\n")
        info = self.folder / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
        )
        (info / "entry_points.txt").write_text(
            f"[torch_dipu.vendors]\n{name} = {package}:library_path\n"
        )

    def droplet(self) -> None:
        """Adds a vendor that is whole."""
        self.add("droplet", DROPLET / "libdipu_droplet.so")

    def run(
        self, *arguments: str, flags: tuple[str, ...] = (), **env: str
    ) -> subprocess.CompletedProcess[str]:
        """Runs the doctor where these vendors, and no others, are installed."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("DIPU_")}
        kept["PYTHONPATH"] = f"{self.folder}:{kept.get('PYTHONPATH', '')}"
        return subprocess.run(
            [sys.executable, *flags, "-m", "torch_dipu", "doctor", *arguments],
            env={**kept, **env},
            capture_output=True,
            text=True,
            check=False,
        )

    def findings(
        self, *arguments: str, flags: tuple[str, ...] = (), **env: str
    ) -> dict[str, list[dict[str, Any]]]:
        """What the doctor finds, by section; sections without findings are left out."""
        done = self.run("--json", *arguments, flags=flags, **env)
        report = json.loads(done.stdout)
        sections = {s["name"]: s["findings"] for s in report["sections"]}
        found = {name: findings for name, findings in sections.items() if findings}
        assert done.returncode == (1 if found else 0), done.stderr
        assert report["whole"] == (not found)
        return found


@pytest.fixture
def site(tmp_path: pathlib.Path) -> Site:
    (tmp_path / "site").mkdir()
    return Site(tmp_path / "site")


def only(findings: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """The finding of a report that has one."""
    ((finding,),) = findings.values()
    return finding


def dist_without(folder: pathlib.Path, name: str) -> pathlib.Path:
    """Droplet's files but for one; returns the vendor library."""
    folder.mkdir()
    for file in DROPLET.iterdir():
        if file.name != name:
            (folder / file.name).symlink_to(file.resolve())
    return folder / "libdipu_droplet.so"


def test_a_whole_installation_has_no_finding(site: Site) -> None:
    site.droplet()
    done = site.run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("the installation is whole\n")
    assert "[!!]" not in done.stdout and "\x1b" not in done.stdout
    assert "[ok] vendor droplet, chosen\n" in done.stdout
    for index in (0, 1):
        assert re.search(rf" dipu:{index} .*: copies and computes\n", done.stdout)
    assert "revision 1, declared" in done.stdout


def test_every_vendor_is_examined_and_the_chosen_one_is_marked(site: Site) -> None:
    site.droplet()
    site.add("null", NULL)
    site.add("alpha", BAD / "libalpha_vendor.so")
    done = site.run("--json", TEST_VENDOR_CARDS="0")
    sections = {s["name"]: s for s in json.loads(done.stdout)["sections"]}
    titles = [s["title"] for name, s in sections.items() if name.startswith("vendor.")]
    assert titles == ["vendor alpha", "vendor droplet, chosen", "vendor null"]
    assert sections["vendor.null"]["facts"]["contract"] == "1.0"
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
        "built for version 2.3 of the vendor contract, this host has 1.0",
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


def test_wrong_settings(site: Site, tmp_path: pathlib.Path) -> None:
    site.droplet()
    wrong = {
        "DIPU_FALBACK": ("is set, but there is no such setting", "Say DIPU_FALLBACK"),
        "DIPU_MOCK_CUDA": ("='perhaps' is refused", "Use 1 or 0, or unset it to get 1"),
        "DIPU_FALLBACK": ("='perhaps' is refused", "Use one of warn, silent, error"),
        "DIPU_EXIT_WAIT_S": ("='perhaps' is refused", "Use a number of seconds"),
        "DIPU_CONVERSIONS": ("names perhaps, which cannot be read", "Correct the path"),
        "DIPU_FORCE_FALLBACK_OPS_LIST": ("'perhaps' matches no", "Correct the pattern"),
    }
    found = site.findings(**dict.fromkeys(wrong, "perhaps"))
    assert list(found) == ["settings"]
    for name, (cause, cure) in wrong.items():
        (finding,) = (f for f in found["settings"] if f["cause"].startswith(name))
        assert cause in finding["cause"]
        assert finding["cure"].startswith(cure)
    assert len(found["settings"]) == len(wrong)


def test_a_list_that_is_refused(site: Site) -> None:
    site.droplet()
    finding = only(site.findings(DIPU_FORCE_FALLBACK_OPS_LIST="("))
    assert finding["check"] == "settings.value"
    assert "'(' is not a regular expression" in finding["cause"]
    assert finding["cure"].startswith("Write names such as add.out")


def test_torch_without_one_of_its_libraries(site: Site) -> None:
    """Everything of torch is there, by links, but one library."""
    site.droplet()
    real = pathlib.Path(next(p for p in sys.path if p.endswith("site-packages")))
    (site.folder / "torch" / "lib").mkdir(parents=True)
    for folder in (real / "torch", real / "torch" / "lib"):
        for file in folder.iterdir():
            link = site.folder / file.relative_to(real)
            if file.name not in ("lib", "libtorch_cpu.so"):
                link.symlink_to(file)
    found = site.findings()
    finding = only(found)
    assert finding["check"] == "torch.import"
    assert "libtorch_cpu.so" in finding["cause"]
    assert "--force-reinstall 'torch==2.13.*'" in finding["cure"]
    assert "missing: libtorch_cpu.so, searched in" in finding["details"]


def test_another_release_of_torch(site: Site) -> None:
    site.droplet()
    (site.folder / "torch").mkdir()
    (site.folder / "torch" / "__init__.py").write_text(
        "import types\n"
        "__version__ = '2.12.1+cpu'\n"
        "version = types.SimpleNamespace(cuda=None)\n"
    )
    finding = only(site.findings())
    assert finding["check"] == "torch.version"
    assert "built for torch 2.13, this is 2.12.1+cpu" in finding["cause"]
    assert "torch==2.13.*" in finding["cure"]


def test_nothing_is_installed_at_all(site: Site) -> None:
    found = site.findings(flags=("-S",))
    checks = [finding["check"] for findings in found.values() for finding in findings]
    assert checks == ["package.rich", "torch.missing", "choice"]


def test_a_package_that_hides_the_installed_one_and_no_vendor(site: Site) -> None:
    hidden = site.folder / "hidden"
    (hidden / "torch_dipu").mkdir(parents=True)
    info = hidden / "torch_dipu-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: torch_dipu\nVersion: 0.1.0\n"
    )
    path = f"{site.folder}:{os.environ.get('PYTHONPATH', '')}:{hidden}"
    found = site.findings(PYTHONPATH=path)
    assert list(found) == ["package", "choice"]
    (hiding,), (missing,) = found.values()
    assert hiding["check"] == "package.hidden"
    assert str(hidden / "torch_dipu") in hiding["cause"]
    assert "PYTHONPATH" in hiding["cure"]
    assert missing["cause"] == "no vendor at all"
    assert "pip install torch_dipu_<vendor>" in missing["cure"]


@pytest.mark.parametrize("limit", ["0", "-1", "nan", "soon"])
def test_a_wrong_time_limit_is_an_error(site: Site, limit: str) -> None:
    done = site.run(f"--timeout={limit}")
    assert done.returncode == 2
    assert "--timeout" in done.stderr


def sessions() -> list[tuple[str, str]]:
    """Command lines of the doctor on the page, with the output that is printed."""
    blocks = re.findall(
        r"```console\n\$ (.*?)\n(.*?)```", PAGE.read_text("utf-8"), re.S
    )
    return [(line, output) for line, output in blocks if "torch_dipu doctor" in line]


def test_the_page_shows_what_is_printed(site: Site) -> None:
    site.droplet()
    checker = doctest.OutputChecker()
    assert sessions()
    for line, output in sessions():
        words = shlex.split(line)
        end = words.index("python")
        done = site.run(*words[end + 4 :], **dict(w.split("=", 1) for w in words[:end]))
        same = checker.check_output(output, done.stdout, doctest.ELLIPSIS)
        assert same, done.stdout + done.stderr
