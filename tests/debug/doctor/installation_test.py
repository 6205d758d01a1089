# SPDX-License-Identifier: Apache-2.0
"""`python -m torch_dipu doctor` on a whole installation, and on broken ones."""

from __future__ import annotations

import doctest
import os
import pathlib
import re
import shlex
import sys

import pytest

from tests.debug.doctor.site_packages import Site, only

PAGE = pathlib.Path("docs/debugging.md")


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
