"""The products of a layer's blocks, with all their derivatives, at once or piece by piece within the cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch._C._functorch import is_legacy_batchedtensor

from ._plan import Bucket

__all__ = ["run_blocks"]

PIECE = 2**20
"""Numbers that a piece of a bucket reads at most: they stay in a processor's cache until they are used."""

Buckets = tuple[Bucket, ...]


def run_blocks(
    x: Tensor, weight: Tensor, bias: Tensor | None, gather: Tensor, buckets: Buckets, *, growing: bool = False
) -> Tensor:
    """Return the units of all buckets, (units, batch), from inputs (features, batch) and flat weights.

    On a processor the inputs of a block are gathered when they are multiplied and forgotten after, forwards and
    backwards: large intermediate tensors would cost more time than the arithmetic. A GPU has the memory bandwidth for
    them, but would wait for every piece to start; compilers and autocast want plain operations. So do inputs that are
    ``growing``, written to before a gradient is taken: what was read of them must be kept.
    """
    plain = growing or x.device.type != "cpu" or torch.compiler.is_compiling() or torch.is_autocast_enabled("cpu")
    product = _units if plain else _in_pieces(_UNITS)
    return product(weight, x, bias, gather, buckets, x.shape[0])


# With weights w, inputs x and numbers u, one for each unit and row of the batch, the sum of u · (w x) is linear in each
# of the three. Its derivative with respect to one is a product of the other two, so these three products are each
# other's derivatives, of any order. Only the units have a bias.


def _units(weight: Tensor, x: Tensor, bias: Tensor | None, gather: Tensor, buckets: Buckets, features: int) -> Tensor:
    """Multiply weights and inputs to units: (units, batch)."""
    batch = x.shape[1]
    reads = x.index_select(0, gather).split_with_sizes([bucket.gathered for bucket in buckets])
    weights = weight.split_with_sizes([bucket.weights for bucket in buckets])
    sizes = [bucket.rows for bucket in buckets]
    biases = [None] * len(buckets) if bias is None else bias.split_with_sizes(sizes)
    found = [
        _product(b, w, read.view(b.blocks, b.inputs, batch), shift).view(b.rows, batch)
        for b, w, read, shift in zip(buckets, weights, reads, biases, strict=True)
    ]
    return torch.cat(found) if found else x[:0]


def _product(bucket: Bucket, weight: Tensor, read: Tensor, bias: Tensor | None, out: Tensor | None = None) -> Tensor:
    weight = weight.view(bucket.blocks, bucket.units, bucket.inputs)
    if bias is None:
        return torch.bmm(weight, read, out=out)
    return torch.baddbmm(bias.view(bucket.blocks, bucket.units, 1), weight, read, out=out)


def _inputs(weight: Tensor, units: Tensor, bias: None, gather: Tensor, buckets: Buckets, features: int) -> Tensor:
    """Multiply weights and units to inputs: (features, batch)."""
    batch = units.shape[1]
    parts = units.split_with_sizes([bucket.rows for bucket in buckets])
    weights = weight.split_with_sizes([bucket.weights for bucket in buckets])
    found = [
        torch.bmm(w.view(b.blocks, b.units, b.inputs).mT, u.reshape(b.blocks, b.units, batch)).view(b.gathered, batch)
        for b, w, u in zip(buckets, weights, parts, strict=True)
    ]
    zeros = units.new_zeros(features, batch)
    return zeros.index_add(0, gather, torch.cat(found)) if found else zeros


def _weights(x: Tensor, units: Tensor, bias: None, gather: Tensor, buckets: Buckets, features: int) -> Tensor:
    """Multiply inputs and units to weights, flat."""
    batch = x.shape[1]
    reads = x.index_select(0, gather).split_with_sizes([bucket.gathered for bucket in buckets])
    parts = units.split_with_sizes([bucket.rows for bucket in buckets])
    found = [
        torch.bmm(u.reshape(b.blocks, b.units, batch), read.view(b.blocks, b.inputs, batch).mT).reshape(b.weights)
        for b, u, read in zip(buckets, parts, reads, strict=True)
    ]
    return torch.cat(found) if found else x.new_zeros(0)


def _pieces(buckets: Buckets, batch: int) -> Iterator[tuple[Bucket, slice, slice, slice]]:
    """Yield parts of the buckets, with the places of their units, gathered inputs and weights."""
    rows = gathered = weights = 0
    for bucket in buckets:
        step = max(1, PIECE // max(1, batch * max(bucket.inputs, bucket.units)))
        for start in range(0, bucket.blocks, step):
            part = Bucket(min(step, bucket.blocks - start), bucket.units, bucket.inputs, bucket.stage)
            places = [(rows, part.rows), (gathered, part.gathered), (weights, part.weights)]
            here, read, kept = (slice(at, at + size) for at, size in places)
            yield part, here, read, kept
            rows, gathered, weights = here.stop, read.stop, kept.stop


def _units_in_pieces(
    weight: Tensor, x: Tensor, bias: Tensor | None, gather: Tensor, buckets: Buckets, features: int
) -> Tensor:
    batch = x.shape[1]
    out = x.new_empty(sum(bucket.rows for bucket in buckets), batch)
    for b, here, read, kept in _pieces(buckets, batch):
        inputs = x.index_select(0, gather[read]).view(b.blocks, b.inputs, batch)
        units = out[here].view(b.blocks, b.units, batch)
        _product(b, weight[kept], inputs, None if bias is None else bias[here], units)
    return out


def _inputs_in_pieces(
    weight: Tensor, units: Tensor, bias: None, gather: Tensor, buckets: Buckets, features: int
) -> Tensor:
    batch, units = units.shape[1], units.contiguous()
    out = units.new_zeros(features, batch)
    for b, here, read, kept in _pieces(buckets, batch):
        w = weight[kept].view(b.blocks, b.units, b.inputs)
        found = torch.bmm(w.mT, units[here].view(b.blocks, b.units, batch)).view(b.gathered, batch)
        out.scatter_add_(0, gather[read].unsqueeze(1).expand(b.gathered, batch), found)
    return out


def _weights_in_pieces(x: Tensor, units: Tensor, bias: None, gather: Tensor, buckets: Buckets, features: int) -> Tensor:
    batch, units = x.shape[1], units.contiguous()
    out = x.new_empty(sum(bucket.weights for bucket in buckets))
    for b, here, read, kept in _pieces(buckets, batch):
        inputs = x.index_select(0, gather[read]).view(b.blocks, b.inputs, batch)
        u = units[here].view(b.blocks, b.units, batch)
        torch.bmm(u, inputs.mT, out=out[kept].view(b.blocks, b.units, b.inputs))
    return out


Form = Callable[[Tensor, Tensor, Any, Tensor, Buckets, int], Tensor]

_UNITS, _INPUTS, _WEIGHTS = range(3)
_AT_ONCE: tuple[Form, ...] = (_units, _inputs, _weights)
_IN_PIECES: tuple[Form, ...] = (_units_in_pieces, _inputs_in_pieces, _weights_in_pieces)


def _in_pieces(face: int) -> Form:
    def product(*arguments: Any) -> Tensor:
        found: Tensor = _InPieces.apply(face, *arguments)  # type: ignore[no-untyped-call]
        return found

    return product


class _InPieces(torch.autograd.Function):
    """One of the three products, worked in pieces."""

    @staticmethod
    def forward(face: int, a: Tensor, b: Tensor, *rest: Any) -> Tensor:
        # The vmap behind torch.autograd.grad(is_grads_batched=True) comes this way; it cannot write into a tensor.
        batched = is_legacy_batchedtensor(a) or is_legacy_batchedtensor(b)
        return (_AT_ONCE if batched else _IN_PIECES)[face](a, b, *rest)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.face, a, b, _, *ctx.plan = inputs
        ctx.save_for_backward(a, b)
        ctx.save_for_forward(a, b)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (a, b), rest = ctx.saved_tensors, (None, *ctx.plan)
        _, needs_a, needs_b, needs_bias, *_ = ctx.needs_input_grad
        units, inputs, weights = map(_in_pieces, (_UNITS, _INPUTS, _WEIGHTS))
        # What each face is given: weights and inputs, weights and units, inputs and units.
        by_a = ((weights, b, grad), (weights, grad, b), (inputs, grad, b))[ctx.face]
        by_b = ((inputs, a, grad), (units, a, grad), (units, grad, a))[ctx.face]
        found = [by[0](*by[1:], *rest) if needs else None for by, needs in ((by_a, needs_a), (by_b, needs_b))]
        return None, *found, grad.sum(dim=1) if needs_bias else None, None, None, None

    @staticmethod
    def jvp(ctx: Any, face: None, da: Tensor | None, db: Tensor | None, dbias: Tensor | None, *plan: None) -> Tensor:
        (a, b), product = ctx.saved_tensors, _in_pieces(ctx.face)
        found = [product(da, b, dbias, *ctx.plan)] if da is not None else []
        found += [product(a, db, None if found else dbias, *ctx.plan)] if db is not None else []
        if not found and dbias is not None:
            found = [dbias.unsqueeze(1).expand(-1, b.shape[1])]
        return found[0] + found[1] if len(found) == 2 else found[0]

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], face: int, *arguments: Any) -> tuple[Tensor, int]:
        found: Tensor = torch.vmap(_AT_ONCE[face], in_dims[1:])(*arguments)
        return found, 0
