# SPDX-License-Identifier: Apache-2.0
"""Which vendor is loaded, and what is said when it cannot be."""

import os
import pathlib
import subprocess
import sys

import pytest

DROPLET = os.path.abspath("vendors/droplet/dist/libdipu_droplet.so")
NULL = os.path.abspath("vendors/null/dist/libdipu_null.so")


@pytest.fixture
def site(tmp_path: pathlib.Path):
    """A folder of distributions; returns a function that adds a vendor."""

    def add(name: str, library: str) -> pathlib.Path:
        module = tmp_path / f"torch_dipu_{name}.py"
        module.write_text(f"def library_path():\n    return {library!r}\n")
        info = tmp_path / f"torch_dipu_{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: torch_dipu_{name}\nVersion: 1.0\n"
        )
        (info / "entry_points.txt").write_text(
            f"[torch_dipu.vendors]\n{name} = torch_dipu_{name}:library_path\n"
        )
        return tmp_path

    add.path = tmp_path
    return add


def run(site, code: str, module: str = "", **env: str) -> subprocess.CompletedProcess:
    """Runs code (or a module) in a new process that sees the site's vendors."""
    full = dict(os.environ)
    for name in ("DIPU_DEVICE", "DIPU_VENDOR_LIBRARY"):
        full.pop(name, None)
    full["PYTHONPATH"] = f"{site.path}:{full.get('PYTHONPATH', '')}"
    full.update(env)
    args = ["-m", module] if module else ["-c", code]
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
    assert done.returncode == 0, done.stderr
    assert "nosuch" in done.stderr and "droplet" in done.stdout
