# SPDX-License-Identifier: Apache-2.0
"""Which vendor is loaded, and what is said when it cannot be."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

DROPLET = os.path.abspath("vendors/droplet/dist/libdipu_droplet.so")
NULL = os.path.abspath("vendors/null/dist/libdipu_null.so")
ALPHA = os.path.abspath("core/loader/tests/libalpha_vendor.so")
BETA = os.path.abspath("core/loader/tests/libbeta_vendor.so")
RUDE = os.path.abspath("core/loader/tests/librude_vendor.so")


@pytest.fixture
def site(tmp_path: pathlib.Path):
    """A folder of distributions; returns a function that adds a vendor."""

    def add(name: str, library: str, package: str = "") -> pathlib.Path:
        package = package or f"torch_dipu_{name}"
        module = tmp_path / f"{package}.py"
        module.write_text(f"def library_path():\n    return {library!r}\n")
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
        )
        (info / "entry_points.txt").write_text(
            f"[torch_dipu.vendors]\n{name} = {package}:library_path\n"
        )
        return tmp_path

    add.path = tmp_path
    return add


def run(site, code: str, module: str = "", **env: str) -> subprocess.CompletedProcess:
    """Runs code, or a module with arguments, in a process that sees the vendors."""
    full = dict(os.environ)
    for name in ("DIPU_DEVICE", "DIPU_VENDOR_LIBRARY"):
        full.pop(name, None)
    full["PYTHONPATH"] = f"{site.path}:{full.get('PYTHONPATH', '')}"
    full.update(env)
    args = ["-m", *module.split()] if module else ["-c", code]
    return subprocess.run(
        [sys.executable, *args], env=full, capture_output=True, text=True, timeout=120
    )


PRINT = "import torch_dipu; print(torch_dipu.vendor_info().get('name'))"


def test_named_vendor_is_loaded(site):
    site("droplet", DROPLET)
    site("null", NULL)
    done = run(site, PRINT, DIPU_DEVICE="droplet")
    assert done.stdout.strip() == "droplet", done.stderr


def test_default_is_droplet(site):
    site("droplet", DROPLET)
    site("null", NULL)
    done = run(site, PRINT)
    assert done.stdout.strip() == "droplet", done.stderr


def test_the_only_vendor_with_a_card_is_taken(site):
    site("droplet", DROPLET)
    site("alpha", ALPHA)
    done = run(site, PRINT)
    assert done.stdout.strip() == "alpha", done.stderr
    done = run(site, PRINT, TEST_VENDOR_CARDS="0")
    assert done.stdout.strip() == "droplet", done.stderr


def test_two_vendors_with_cards_are_an_error(site):
    site("droplet", DROPLET)
    site("alpha", ALPHA)
    site("beta", BETA)
    done = run(site, PRINT)
    assert done.returncode == 1
    assert "alpha, beta" in done.stderr and "DIPU_DEVICE" in done.stderr
    done = run(site, PRINT, DIPU_DEVICE="beta")
    assert done.stdout.strip() == "beta", done.stderr


def test_unknown_vendor_lists_what_is_installed(site):
    site("droplet", DROPLET)
    site("null", NULL)
    done = run(site, PRINT, DIPU_DEVICE="nosuch")
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert "nosuch" in last and "droplet" in last and "null" in last


def test_no_vendor_at_all(site):
    code = "import torch, torch_dipu; print(torch.dipu.is_available())"
    done = run(site, code)
    assert done.stdout.strip() == "False", done.stderr
    done = run(site, "import torch, torch_dipu; torch.zeros(1, device='dipu')")
    assert done.returncode != 0
    assert "no vendor" in done.stderr


def test_vendor_without_devices_imports(site):
    code = "import torch, torch_dipu; print(torch.dipu.is_available())"
    site("null", NULL)
    done = run(site, code, DIPU_DEVICE="null")
    assert done.stdout.strip() == "False", done.stderr


def test_library_that_is_not_a_library(site, tmp_path):
    bad = tmp_path / "libdipu_bad.so"
    bad.write_text("this is no library")
    done = run(site, PRINT, DIPU_VENDOR_LIBRARY=str(bad))
    assert done.returncode != 0
    assert str(bad) in done.stderr and "ELF" in done.stderr


def test_two_packages_of_one_name_are_an_error(site):
    site("droplet", DROPLET)
    site("null", NULL)
    site("null", NULL, package="another_null")
    done = run(site, PRINT, DIPU_DEVICE="null")
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    packages = [f"{name} 1.0 ({NULL})" for name in ("another_null", "torch_dipu_null")]
    assert last.partition(": ")[2] in [
        f"vendor 'null': two packages offer it, {first} and {second}; "
        "uninstall all but one of them"
        for first, second in (packages, packages[::-1])
    ]
    done = run(site, PRINT)
    assert done.stdout.strip() == "droplet", done.stderr
    site("droplet", DROPLET, package="another_droplet")
    done = run(site, PRINT)
    assert done.returncode != 0 and "another_droplet 1.0" in done.stderr


def test_library_that_everybody_can_change(site, tmp_path):
    bad = tmp_path / "libdipu_open.so"
    shutil.copyfile(NULL, bad)
    bad.chmod(0o777)
    done = run(site, PRINT, DIPU_VENDOR_LIBRARY=str(bad))
    assert done.returncode != 0
    assert str(bad) in done.stderr and "chmod o-w" in done.stderr


@pytest.mark.parametrize(
    ("mood", "reason"),
    [
        ("", "reports 5000 devices, 0 to 1024 are possible"),
        ("fail", r"could not start: no \xff\xfe driver \xc3"),
        (
            "throw",
            "could not start: it threw a C++ exception that is no std::exception",
        ),
    ],
)
def test_vendor_that_breaks_the_contract(site, mood, reason):
    site("rude", RUDE)
    code = "import torch, torch_dipu; print(torch.dipu.is_available())\n"
    done = run(site, code, DIPU_DEVICE="rude", DIPU_RUDE_VENDOR=mood)
    assert done.stdout.strip() == "False", done.stderr
    code += "torch.zeros(1, device='dipu')"
    done = run(site, code, DIPU_DEVICE="rude", DIPU_RUDE_VENDOR=mood)
    text = f"vendor test_vendor ({RUDE}) {reason}"
    assert done.returncode == 1 and text in done.stderr, done.stderr
    done = run(site, "", module="torch_dipu", DIPU_RUDE_VENDOR=mood, COLUMNS="999")
    assert done.returncode == 0, done.stderr
    assert f"no device: rude: {text}" in done.stdout


def test_broken_entry_point_does_not_hide_others(site):
    site("droplet", DROPLET)
    broken = site("broken", "x") / "torch_dipu_broken.py"
    broken.write_text("raise RuntimeError('lost its SDK')\n")
    done = run(site, PRINT)
    assert done.stdout.strip() == "droplet", done.stderr
    done = run(site, PRINT, DIPU_DEVICE="broken")
    assert "lost its SDK" in done.stderr and done.returncode != 0


def autoload(site, code: str, **env: str) -> subprocess.CompletedProcess:
    info = site.path / "torch_dipu-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: torch_dipu\nVersion: 0\n"
    )
    (info / "entry_points.txt").write_text(
        "[torch.backends]\ndipu = torch_dipu_autoload:autoload\n"
    )
    return run(site, code, **env)


def test_import_torch_loads_the_device(site):
    site("droplet", DROPLET)
    code = "import torch; print(torch.accelerator.current_accelerator())"
    done = autoload(site, code)
    assert done.stdout.strip() == "dipu", done.stderr


def test_import_torch_dipu_first_with_autoload(site):
    site("droplet", DROPLET)
    done = autoload(site, PRINT)
    assert done.stdout.strip() == "droplet", done.stderr


def test_import_torch_survives_an_unknown_vendor(site):
    code = "import torch; print(torch.ones(2).sum().item())"
    done = autoload(site, code, DIPU_DEVICE="nosuch")
    assert done.stdout.strip() == "2.0", done.stderr
    assert done.stderr.count("nosuch") == 1


def test_report_names_vendors_devices_and_failures(site, tmp_path):
    bad = tmp_path / "libdipu_bad.so"
    bad.write_text("this is no library")
    site("droplet", DROPLET)
    site("bad", str(bad))
    done = run(site, "", module="torch_dipu", COLUMNS="300")
    assert done.returncode == 0, done.stderr
    assert "droplet" in done.stdout and "dipu:0" in done.stdout
    assert "does not load: bad" in done.stdout and str(bad) in done.stdout


def test_report_works_when_the_named_vendor_does_not(site):
    site("droplet", DROPLET)
    done = run(site, "", module="torch_dipu", DIPU_DEVICE="nosuch", COLUMNS="300")
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("nosuch") == 1 and "droplet" in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DIPU_DEVICE", "nosuch"),
        ("DIPU_DEVICE", "bad"),
        ("DIPU_VENDOR_LIBRARY", "/no/such/library.so"),
        ("DIPU_FALLBACK", "loud"),
        ("DIPU_MOCK_CUDA", "perhaps"),
    ],
)
@pytest.mark.parametrize("module", ["", "torch_dipu"])
def test_a_wrong_setting_is_told_once(site, tmp_path, module, name, value):
    bad = tmp_path / "libdipu_bad.so"
    bad.write_text("this is no library")
    site("bad", str(bad))
    site("droplet", DROPLET)
    env = {"COLUMNS": "999", name: value}
    done = run(site, "import torch, torch_dipu", module=module, **env)
    assert done.returncode == 1
    reason = {
        "bad": "the file is not a shared object",
        "/no/such/library.so": "/no/such/library.so'",
    }.get(value, f"{name}={value!r}")
    assert (done.stdout + done.stderr).count(reason) == 1, done.stderr


def test_the_error_of_the_autoload_is_that_of_the_import(site):
    """The import that fails after `import torch` says why, and can be repeated."""
    site("droplet", DROPLET)
    code = """
import os, torch
try:
    import torch_dipu
except ImportError as error:
    print(error)
os.environ["DIPU_DEVICE"] = "droplet"
import torch_dipu
print(torch.ones(2, device="dipu").sum().item())
"""
    done = autoload(site, code, DIPU_DEVICE="nosuch")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].startswith("DIPU_DEVICE='nosuch'")
    assert done.stdout.splitlines()[1] == "2.0"


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_is_no_error(site, option):
    done = run(site, "", module=f"torch_dipu {option}", DIPU_DEVICE="nosuch")
    assert done.returncode == 0
    assert done.stdout.startswith("usage: python -m torch_dipu [COMMAND]")
    assert done.stderr == ""


def test_wrong_arguments_are_an_error(site):
    done = run(site, "", module="torch_dipu --nosuch")
    assert done.returncode == 2
    assert done.stderr.startswith("usage: ") and done.stdout == ""
