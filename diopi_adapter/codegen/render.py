# SPDX-License-Identifier: Apache-2.0
"""Writes operators as C++ sources.

The order of everything is that of the operators, so the output is
deterministic.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from diopi_adapter.codegen import model
from diopi_adapter.codegen.elementwise import ElementwiseWriter
from diopi_adapter.codegen.template import fill
from diopi_adapter.codegen.writer import OperatorWriter

_HEADERS = ("call", "elementwise", "handles", "output", "shape", "slot", "symbol_table")


def _writer(operator: model.Operator) -> OperatorWriter:
    elementwise = operator.kind in (model.Kind.ITERATOR, model.Kind.ELEMENTWISE)
    return ElementwiseWriter(operator) if elementwise else OperatorWriter(operator)


def render_shard(operators: Sequence[model.Operator], index: int) -> str:
    """One source with the wrappers of `operators` and their registration."""
    with_meta = (model.Kind.ITERATOR, model.Kind.META)
    headers = sorted({o.header for o in operators if o.kind in with_meta if o.header})
    # Torch's meta headers need what ours include.
    includes = [f'#include "diopi_adapter/runtime/{h}.h"' for h in _HEADERS]
    if any(o.entry.cpu_reference for o in operators):
        includes.insert(0, '#include "diopi_adapter/reference/reference.h"')
        includes.insert(0, '#include "diopi_adapter/aten/native_call.h"')
    includes.append("")
    includes += [f"#include <ATen/ops/{h}_meta.h>" for h in headers]
    writers = [_writer(o) for o in operators]
    return fill(
        "shard.cc",
        includes="\n".join(includes),
        operators="".join(w.text() for w in writers).rstrip("\n") + "\n",
        index=index,
        registrations="".join(w.registration() for w in writers).rstrip("\n"),
    )


def render_registration(
    operators: Sequence[model.Operator], aliases: Sequence[model.Alias], shards: int
) -> str:
    """The source that calls the registration functions of all shards."""
    infos = [
        f'      {{"{variant.name}", "{operator.family}", "{operator.call.function}"}},'
        for operator in operators
        for variant in operator.variants
    ]
    return fill(
        "registration.cc",
        declarations="\n".join(
            f"void registerShard{i}(torch::Library& library);" for i in range(shards)
        ),
        infos="\n".join(infos),
        aliases="\n".join(
            f'      {{"{alias.name}", "{operator}"}},'
            for alias in aliases
            for operator in alias.operators
        ),
        calls="\n".join(f"  registerShard{i}(library);" for i in range(shards)),
    )


def split(
    operators: Sequence[model.Operator], shards: int
) -> list[Sequence[model.Operator]]:
    """`operators` in `shards` runs of about the same length, in order."""
    count = len(operators)
    bounds = [count * i // shards for i in range(shards + 1)]
    return [operators[a:b] for a, b in itertools.pairwise(bounds)]
