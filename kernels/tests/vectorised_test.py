# SPDX-License-Identifier: Apache-2.0
"""The loops of common operators are vector code without masked stores."""

import os
import re
import subprocess

import pytest

# Operator (as in the demangled name of its loop) and an instruction on whole
# AVX registers that its float32 loop must contain.
_LOOPS = [
    (r"kernels::add\(", r"vaddps .*%ymm"),
    (r"kernels::mul\(", r"vmulps .*%ymm"),
    (r"kernels::unary\(", r"v(max|min|and|xor|blendv|cmp)\w*ps .*%ymm"),
    (r"kernels::unaryReal\(", r"vfn?m\w*ps .*%ymm"),
    (r"GeluErf<float>", r"vfn?m\w*ps .*%ymm"),
    (r"Where<unsigned int>", r"vp(and|or)\w* .*%ymm"),
    (r"MaskedFill<unsigned int>", r"vp(and|or)\w* .*%ymm"),
]


@pytest.fixture(scope="module")
def functions() -> dict[str, str]:
    """Code of each function by its demangled name."""
    listing = subprocess.run(
        ["objdump", "--disassemble", "--demangle", os.environ["LIBRARY"]],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    found: dict[str, str] = {}
    for block in re.split(r"\n\n[0-9a-f]+ <", listing):
        name, _, code = block.partition(">:\n")
        found.setdefault(name, code)
    return found


def _is_dense_loop(name: str) -> bool:
    return "DenseLoopOf<" in name and name.endswith(
        "::run(void const*, void* const*, long)"
    )


@pytest.mark.parametrize(("operator", "instruction"), _LOOPS)
def test_loop_is_vector_code(
    functions: dict[str, str], operator: str, instruction: str
) -> None:
    loops = [
        code
        for name, code in functions.items()
        if _is_dense_loop(name) and re.search(operator, name)
    ]
    assert loops, f"no loop of {operator}"
    assert any(re.search(instruction, code) for code in loops)
    for code in loops:
        assert "vmaskmov" not in code


def test_sums_are_part_of_their_loops(functions: dict[str, str]) -> None:
    """A sum that stays a function of its own adds one element at a time."""
    sums = re.compile(r"[\w:<>]* ?dipu::kernels::sum(Terms|Pairs|Block)<")
    calls = [name for name in functions if sums.match(name)]
    assert not calls
    assert any("dipu::kernels::sumInterleaved<" in name for name in functions)
