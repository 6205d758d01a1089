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
]


@pytest.fixture(scope="module")
def functions() -> dict[str, str]:
    """Code of each dense loop by its demangled name."""
    listing = subprocess.run(
        ["objdump", "--disassemble", "--demangle", os.environ["LIBRARY"]],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    blocks = re.split(r"\n\n[0-9a-f]+ <", listing)
    found = {}
    for block in blocks:
        name, _, code = block.partition(">:\n")
        if "DenseLoopOf<" in name and name.endswith(
            "::run(void const*, void* const*, long)"
        ):
            found.setdefault(name, code)
    return found


@pytest.mark.parametrize(("operator", "instruction"), _LOOPS)
def test_loop_is_vector_code(
    functions: dict[str, str], operator: str, instruction: str
) -> None:
    loops = [code for name, code in functions.items() if re.search(operator, name)]
    assert loops, f"no loop of {operator}"
    assert any(re.search(instruction, code) for code in loops)
    for code in loops:
        assert "vmaskmov" not in code
