# SPDX-License-Identifier: Apache-2.0
"""Programs that compare collectives with plain computation on the host."""

from __future__ import annotations

from collections.abc import Callable

import ranks
import torch
import torch.distributed as dist

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
DTYPES = (*FLOATS, *INTEGERS, torch.bool, torch.complex64)
SHAPE = (3, 4)

Op = dist.ReduceOp
ARITHMETIC: dict[object, Callable[[torch.Tensor], torch.Tensor]] = {
    Op.SUM: lambda parts: parts.sum(0),
    Op.AVG: lambda parts: parts.sum(0) / parts.shape[0],
    Op.PRODUCT: lambda parts: parts.prod(0),
    Op.MIN: lambda parts: parts.amin(0),
    Op.MAX: lambda parts: parts.amax(0),
}


def _fold(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    def fold(parts: torch.Tensor) -> torch.Tensor:
        result = parts[0]
        for part in parts[1:]:
            result = function(result, part)
        return result

    return fold


BITWISE = {
    Op.BAND: _fold(torch.bitwise_and),
    Op.BOR: _fold(torch.bitwise_or),
    Op.BXOR: _fold(torch.bitwise_xor),
}


def values(
    rank: int, dtype: torch.dtype, shape: tuple[int, ...] = SHAPE
) -> torch.Tensor:
    """What `rank` contributes; small numbers, so that results are exact."""
    count = torch.Size(shape).numel()
    numbers = (torch.arange(count) * (rank + 1) + rank) % 5
    if dtype == torch.bool:
        return (numbers % 2 == 0).reshape(shape)
    if dtype.is_complex:
        return torch.complex(numbers.float(), -numbers.float()).reshape(shape)
    return numbers.reshape(shape).to(dtype)


def on_device(tensor: torch.Tensor, strided: bool) -> torch.Tensor:
    """The tensor on the device, on request as every second element of a larger one."""
    if not strided:
        return tensor.to("dipu")
    return tensor.repeat_interleave(2, dim=-1).to("dipu")[..., ::2]


def _reductions(dtype: torch.dtype) -> dict[object, Callable[..., torch.Tensor]]:
    """Those that have a meaning for the type."""
    if dtype == torch.bool:
        return {op: f for op, f in (ARITHMETIC | BITWISE).items() if op != Op.AVG}
    if dtype.is_complex:
        return {op: ARITHMETIC[op] for op in (Op.SUM, Op.AVG)}
    return ARITHMETIC if dtype.is_floating_point else ARITHMETIC | BITWISE


def expected(
    function: Callable[..., torch.Tensor], size: int, dtype: torch.dtype
) -> torch.Tensor:
    """What the ranks' values give."""
    parts = torch.stack([values(rank, dtype) for rank in range(size)])
    if dtype.is_floating_point or dtype.is_complex:
        wide = torch.complex128 if dtype.is_complex else torch.float64
        return function(parts.to(wide)).to(dtype)
    result = function(parts if dtype == torch.bool else parts.long())
    if dtype == torch.bool:
        return result.bool()
    return result.trunc().to(dtype)


def check(got: torch.Tensor, want: torch.Tensor, what: object) -> None:
    """Compares a result of the device."""
    exact = not (want.dtype.is_floating_point or want.dtype.is_complex)
    kw = {"rtol": 0, "atol": 0} if exact else {}
    torch.testing.assert_close(got.cpu(), want, msg=lambda m: f"{what}: {m}", **kw)


def reductions(group: ranks.Ranks) -> dict[str, int]:
    """all_reduce, reduce and reduce_scatter: all types by all operations."""
    group.init()
    for dtype in DTYPES:
        for op, function in _reductions(dtype).items():
            want = expected(function, group.size, dtype)
            for strided in (False, True):
                what = ("all_reduce", dtype, op, strided)
                tensor = on_device(values(group.rank, dtype), strided)
                dist.all_reduce(tensor, op)
                check(tensor, want, what)
            tensor = on_device(values(group.rank, dtype), True)
            dist.reduce(tensor, group.size - 1, op)
            is_root = group.rank == group.size - 1
            own = want if is_root else values(group.rank, dtype)
            check(tensor, own, ("reduce", dtype, op))
            _check_reduce_scatter(group, dtype, op, want)
    found = ranks.launches()
    dist.destroy_process_group()
    return found


def _check_reduce_scatter(
    group: ranks.Ranks, dtype: torch.dtype, op: object, want: torch.Tensor
) -> None:
    # Every rank's part is the same numbers, in another order of rows.
    parts = [values(group.rank, dtype).roll(part, 0) for part in range(group.size)]
    whole = torch.cat(parts).to("dipu")
    output = torch.empty(SHAPE, dtype=dtype, device="dipu")
    dist.reduce_scatter_tensor(output, whole, op)
    check(output, want.roll(group.rank, 0), ("reduce_scatter_tensor", dtype, op))
    lists = [part.to("dipu") for part in parts]
    output = torch.empty(SHAPE, dtype=dtype, device="dipu")
    dist.reduce_scatter(output, lists, op)
    check(output, want.roll(group.rank, 0), ("reduce_scatter", dtype, op))


def refusals(group: ranks.Ranks) -> list[str]:
    """What has no meaning, or cannot be; the group goes on afterwards."""
    group.init()
    texts = []

    def refused(kind: type[Exception], call: Callable[[], object]) -> None:
        try:
            call()
        except kind as e:
            texts.append(str(e))
        else:
            raise AssertionError(f"not refused, after {texts}")

    def reduce(dtype: torch.dtype, op: object) -> Callable[[], object]:
        return lambda: dist.all_reduce(torch.ones(2, device="dipu").to(dtype), op)

    backend = dist.group.WORLD._get_backend(torch.device("dipu"))
    options = dist.AllreduceOptions()
    options.reduceOp = Op.MAX
    pair = torch.ones(2, device="dipu").to(torch.complex64)
    refused(NotImplementedError, lambda: backend.allreduce([pair], options))
    refused(NotImplementedError, reduce(torch.float32, Op.BAND))
    refused(NotImplementedError, reduce(torch.bool, Op.AVG))
    ones = torch.ones(3, device="dipu")
    refused(ValueError, lambda: dist.all_gather_into_tensor(ones, ones))
    refused(ValueError, lambda: dist.recv(ones, tag=3, src=1 - min(group.rank, 1)))
    refused(NotImplementedError, lambda: dist.recv(ones))
    refused(ValueError, lambda: dist.all_to_all_single(ones, ones, [1, 1], [1, 1]))
    dist.all_reduce(ones)
    check(ones, torch.full((3,), float(group.size)), "afterwards")
    dist.destroy_process_group()
    return texts


def movements(group: ranks.Ranks) -> dict[str, int]:
    """Everything that moves values without computing, in all types."""
    group.init()
    for dtype in DTYPES:
        for strided in (False, True):
            _check_broadcast(group, dtype, strided)
            _check_gathers(group, dtype, strided)
            _check_exchange(group, dtype, strided)
        _check_uneven(group, dtype)
    found = ranks.launches()
    dist.destroy_process_group()
    return found


def _check_broadcast(group: ranks.Ranks, dtype: torch.dtype, strided: bool) -> None:
    for root in range(group.size):
        tensor = on_device(values(group.rank, dtype), strided)
        dist.broadcast(tensor, root)
        check(tensor, values(root, dtype), ("broadcast", dtype, strided))


def _empty(dtype: torch.dtype, strided: bool, rows: int = SHAPE[0]) -> torch.Tensor:
    return on_device(torch.zeros(rows, SHAPE[1], dtype=dtype), strided)


def _check_gathers(group: ranks.Ranks, dtype: torch.dtype, strided: bool) -> None:
    own = on_device(values(group.rank, dtype), strided)
    everything = [values(rank, dtype) for rank in range(group.size)]
    outputs = [_empty(dtype, strided) for _ in range(group.size)]
    dist.all_gather(outputs, own)
    for got, want in zip(outputs, everything, strict=True):
        check(got, want, ("all_gather", dtype, strided))
    whole = _empty(dtype, strided, SHAPE[0] * group.size)
    dist.all_gather_into_tensor(whole, own)
    check(whole, torch.cat(everything), ("all_gather_into_tensor", dtype, strided))
    root = group.size - 1
    lists = [_empty(dtype, strided) for _ in range(group.size)]
    dist.gather(own, lists if group.rank == root else None, root)
    if group.rank == root:
        for got, want in zip(lists, everything, strict=True):
            check(got, want, ("gather", dtype, strided))
    parts = [on_device(part, strided) for part in everything]
    output = _empty(dtype, strided)
    dist.scatter(output, parts if group.rank == root else None, root)
    check(output, values(group.rank, dtype), ("scatter", dtype, strided))


def _pair(sender: int, receiver: int, dtype: torch.dtype) -> torch.Tensor:
    """What one rank sends to another."""
    return values(sender, dtype).roll(receiver, 0)


def _check_exchange(group: ranks.Ranks, dtype: torch.dtype, strided: bool) -> None:
    everyone = range(group.size)
    sent = [on_device(_pair(group.rank, peer, dtype), strided) for peer in everyone]
    want = [_pair(peer, group.rank, dtype) for peer in everyone]
    outputs = [_empty(dtype, strided) for _ in everyone]
    dist.all_to_all(outputs, sent)
    for got, part in zip(outputs, want, strict=True):
        check(got, part, ("all_to_all", dtype, strided))
    whole = on_device(torch.cat([part.cpu() for part in sent]), strided)
    output = _empty(dtype, strided, SHAPE[0] * group.size)
    dist.all_to_all_single(output, whole)
    check(output, torch.cat(want), ("all_to_all_single", dtype, strided))
    right = (group.rank + 1) % group.size
    left = (group.rank - 1) % group.size
    got = _empty(dtype, strided)
    messages = [
        dist.P2POp(dist.isend, sent[right], right),
        dist.P2POp(dist.irecv, got, left),
    ]
    for work in dist.batch_isend_irecv(messages):
        work.wait()
    check(got, want[left], ("batch_isend_irecv", dtype, strided))
    if group.rank % 2 == 0:
        dist.send(sent[group.rank ^ 1], group.rank ^ 1)
        dist.recv(got, group.rank ^ 1)
    else:
        dist.recv(got, group.rank ^ 1)
        dist.send(sent[group.rank ^ 1], group.rank ^ 1)
    check(got, want[group.rank ^ 1], ("send and recv", dtype, strided))


def _check_uneven(group: ranks.Ranks, dtype: torch.dtype) -> None:
    """Parts of rank + 1 rows, none for rank 0 of all_to_all."""
    own = values(group.rank, dtype, (group.rank + 1, 4)).to("dipu")
    outputs = [_empty(dtype, False, rank + 1) for rank in range(group.size)]
    dist.all_gather(outputs, own)
    for rank, got in enumerate(outputs):
        check(got, values(rank, dtype, (rank + 1, 4)), ("uneven all_gather", dtype))
    sizes = list(range(group.size))
    sent = values(group.rank, dtype, (sum(sizes), 4))
    output = _empty(dtype, False, group.rank * group.size)
    counts = [group.rank] * group.size
    dist.all_to_all_single(output, sent.to("dipu"), counts, sizes)
    start = sum(range(group.rank))
    want = [
        values(peer, dtype, (sum(sizes), 4))[start : start + group.rank]
        for peer in range(group.size)
    ]
    check(output, torch.cat(want), ("uneven all_to_all_single", dtype))


def uneven_reduce_scatter(group: ranks.Ranks) -> None:
    """reduce_scatter of parts of different sizes."""
    group.init()
    parts = [
        torch.full((part + 1,), float(group.rank + part)) for part in range(group.size)
    ]
    output = torch.zeros(group.rank + 1, device="dipu")
    dist.reduce_scatter(output, [part.to("dipu") for part in parts])
    total = sum(rank + group.rank for rank in range(group.size))
    check(output, torch.full((group.rank + 1,), float(total)), "uneven reduce_scatter")
    dist.destroy_process_group()


def coalesced(group: ranks.Ranks) -> None:
    """Collectives of many tensors at once, and the premultiplied sum."""
    group.init()
    tensors = [torch.full((n,), float(group.rank), device="dipu") for n in (1, 5, 3)]
    with dist._coalescing_manager():
        for tensor in tensors:
            dist.all_reduce(tensor)
    total = float(sum(range(group.size)))
    for tensor in tensors:
        check(tensor, torch.full(tensor.shape, total), "coalesced all_reduce")
    outputs = [torch.zeros(group.size * n, device="dipu") for n in (1, 5, 3)]
    with dist._coalescing_manager():
        for output, n in zip(outputs, (1, 5, 3), strict=True):
            own = torch.full((n,), float(group.rank), device="dipu")
            dist.all_gather_into_tensor(output, own)
    for output, n in zip(outputs, (1, 5, 3), strict=True):
        want = torch.arange(float(group.size)).repeat_interleave(n)
        check(output, want, "coalesced all_gather")
    factor = dist._make_nccl_premul_sum(0.5)
    tensor = torch.full((4,), 2.0, device="dipu")
    dist.all_reduce(tensor, factor)
    check(tensor, torch.full((4,), float(group.size)), "premultiplied sum")
    scale = dist._make_nccl_premul_sum(torch.tensor([3.0], device="dipu"))
    tensor = torch.ones(4, dtype=torch.float64, device="dipu")
    dist.all_reduce(tensor, scale)
    check(
        tensor, torch.full((4,), 3.0 * group.size).double(), "premultiplied by a tensor"
    )
    dist.destroy_process_group()
