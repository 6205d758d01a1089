# SPDX-License-Identifier: Apache-2.0
"""The generator refuses malformed rows and writes what it was given."""

import pathlib

import pytest

from diopi_adapter.abi import generate

_HEADER = "name\theader\tarea\treturns\tparameters\tweak\trevision\tchanged\n"
_GOOD = "diopiNeg\tfunctions.h\tunary\tdiopiError_t\tint64_t n\t\t1\t\n"


def _table(folder: pathlib.Path, text: str) -> pathlib.Path:
    path = folder / "table.tsv"
    path.write_text(text, encoding="ascii")
    return path


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("diopiNeg\tfunctions.h\n", "2 columns"),
        (_GOOD.replace("diopiNeg", "neg"), "'neg' is not the name"),
        (_GOOD.replace("functions.h", "other.h"), "unknown header 'other.h'"),
        (_GOOD.replace("\t1\t", "\tone\t"), "revision of diopiNeg is 'one'"),
        (_GOOD.replace("int64_t n", "int64_t"), "'int64_t' of diopiNeg lacks"),
        (_GOOD.replace("diopiNeg", "diopiExtNeg"), "diopiExtNeg stands in functions.h"),
        (_GOOD.replace("functions.h", "functions_dipu.h"), "begin with diopiExt"),
        (_GOOD + _GOOD, "diopiNeg stands in line 2 already"),
    ],
)
def test_refuses_a_malformed_row(
    tmp_path: pathlib.Path, row: str, message: str
) -> None:
    with pytest.raises(generate.TableError, match=message):
        generate.parse(_table(tmp_path, _HEADER + row))


def test_declares_the_function(tmp_path: pathlib.Path) -> None:
    functions = generate.parse(_table(tmp_path, _HEADER + _GOOD))
    text = generate.render_header("functions.h", functions)
    assert "DIOPI_API diopiError_t diopiNeg(int64_t n);\n" in text
    assert "DIOPI_SYMBOL(diopiNeg)\n" in generate.render_symbols(functions)


def test_marks_weak_and_changed_functions(tmp_path: pathlib.Path) -> None:
    rows = _GOOD.replace("\t1\t", "\t1\t2023: other").replace("\t\t1", "\tweak\t1")
    functions = generate.parse(_table(tmp_path, _HEADER + rows))
    assert "DIOPI_ATTR_WEAK" in generate.render_header("functions.h", functions)
    assert "DIOPI_SYMBOL_CHANGED(diopiNeg)" in generate.render_symbols(functions)


def test_extensions_have_a_header_of_their_own(tmp_path: pathlib.Path) -> None:
    row = _GOOD.replace("diopiNeg", "diopiExtNeg").replace(
        "functions.h", "functions_dipu.h"
    )
    functions = generate.parse(_table(tmp_path, _HEADER + _GOOD + row))
    text = generate.render_header("functions_dipu.h", functions)
    assert "diopiExtNeg(int64_t n);" in text
    assert "diopiNeg" not in text
    assert "DIOPI_SYMBOL(diopiExtNeg)" in generate.render_symbols(functions)


def test_output_is_deterministic(tmp_path: pathlib.Path) -> None:
    functions = generate.parse(_table(tmp_path, _HEADER + _GOOD))
    generate.write(functions, tmp_path / "a")
    generate.write(functions, tmp_path / "b")
    for path in sorted((tmp_path / "a").iterdir()):
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()
