# SPDX-License-Identifier: Apache-2.0
"""What holds after `pip install` of the wheels of this build."""

import pathlib
import zipfile

import pytest

from tests.wheel.environment import Environment

_SUM = "import torch; x = torch.randn(4, 5, 5).cuda(); print((x + x).device)"
_OPEN = """
import ctypes, importlib.util
assert importlib.util.find_spec("torch") is None
library = ctypes.CDLL({path!r})
library.dipu_vendor_query.restype = ctypes.c_void_p
assert library.dipu_vendor_query(ctypes.c_uint32(1 << 16))
"""


def test_pip_finds_no_conflict(installed: Environment) -> None:
    assert installed.output("-m", "pip", "check") == "No broken requirements found."


def test_user_code_runs_on_droplet(installed: Environment) -> None:
    assert installed.output("-c", _SUM, DIPU_DEVICE="droplet") == "dipu:0"


def test_vendors_are_found_by_entry_point(installed: Environment) -> None:
    report = installed.output("-m", "torch_dipu", DIPU_DEVICE="droplet")
    assert "droplet" in report
    assert "null" in report


def test_unknown_vendor_lists_what_is_installed(installed: Environment) -> None:
    result = installed.run("-c", "import torch_dipu", DIPU_DEVICE="nosuch")
    assert result.returncode != 0
    for name in ("nosuch", "droplet", "null"):
        assert name in result.stderr


def test_the_doctor_finds_the_installation_whole(installed: Environment) -> None:
    report = installed.output("-m", "torch_dipu", "doctor", DIPU_DEVICE="droplet")
    assert report.endswith("the installation is whole")
    assert "source tree" not in report


def test_the_doctor_names_files_that_are_not_as_installed(
    installed: Environment,
) -> None:
    code = "import torch_dipu_null; print(torch_dipu_null.library_path())"
    library = pathlib.Path(installed.output("-c", code))
    whole = library.read_bytes()
    try:
        library.write_bytes(whole[: len(whole) // 2])
        changed = installed.run("-m", "torch_dipu", "doctor", DIPU_DEVICE="droplet")
        library.unlink()
        missing = installed.run("-m", "torch_dipu", "doctor", DIPU_DEVICE="droplet")
    finally:
        library.write_bytes(whole)
    assert changed.returncode == missing.returncode == 1
    assert "files of torch_dipu_null 0.1.0 are not as installed: 1\n" in changed.stdout
    assert "files of torch_dipu_null 0.1.0 are missing: 1 of " in missing.stdout
    for report in (changed.stdout, missing.stdout):
        assert f"           {library}" in report
        assert "pip install --force-reinstall --no-deps torch_dipu_null==" in report


@pytest.mark.parametrize("vendor", ["droplet", "null"])
def test_vendor_library_opens_without_torch(
    bare: Environment,
    wheels: list[pathlib.Path],
    tmp_path: pathlib.Path,
    vendor: str,
) -> None:
    (wheel,) = [path for path in wheels if f"_{vendor}-" in path.name]
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    path = tmp_path / f"torch_dipu_{vendor}" / f"libdipu_{vendor}.so"
    bare.output("-c", _OPEN.format(path=str(path)))


def test_every_wheel_carries_its_licence(wheels: list[pathlib.Path]) -> None:
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
        assert [n for n in names if n.endswith(".dist-info/licenses/LICENSE")], wheel


def test_no_wheel_carries_dates(wheels: list[pathlib.Path]) -> None:
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            dates = {info.date_time for info in archive.infolist()}
        assert dates == {(1980, 1, 1, 0, 0, 0)}, wheel
