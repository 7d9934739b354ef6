"""The level schedule: when each unit of a network becomes computable as inputs arrive generation by generation."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from .._arguments import check_whole
from .._errors import shorten, show
from ._blocks import run_blocks
from ._checks import check_context, check_tensor
from ._layers import MaskedLinear, skip_places
from ._plan import BlockPlan, Bucket
from ._strnn import StrNN

__all__ = ["LevelSchedule", "Walk"]


@dataclass(frozen=True, eq=False)
class _Layer:
    """One layer with its units sorted by stage.

    Args:
        order: The original number of the unit at each place.
        bounds: Where each stage begins; one more entry than stages.
        known: How many places of the layer below are known at each stage.
        plan: The blocks, for sparse execution.
    """

    order: np.ndarray
    bounds: np.ndarray
    known: np.ndarray
    plan: BlockPlan | None

    def places(self, stage: int) -> slice:
        """Return the places of the units that become computable at a stage."""
        return slice(int(self.bounds[stage]), int(self.bounds[stage + 1]))


class LevelSchedule:
    """When each unit of a network can be computed, if its inputs arrive generation by generation.

    To sample from a model, or to intervene in it, the variables of one generation after another become known. A hidden
    unit is computable as soon as its last input is; evaluated then, and only then, every unit is computed once, so that
    the whole walk costs the arithmetic of about one forward pass. `walk` begins such an evaluation.

    Args:
        net: The network.
        arrival: The generation, from 0, in which each variable arrives. By default it follows from the structure, which
            must then be square and acyclic, with rows and columns that name the same variables; and the outputs of a
            generation are read before that generation arrives.

    Attributes:
        generations: For each generation, the variables (columns of the structure) that arrive in it.
        outputs: For each generation, the variables (rows) whose outputs are read before it arrives; one more entry than
            ``generations`` where some outputs need every input.
        units: For each hidden layer and each stage, the units that become computable: stage 0 needs no input at all,
            stage t + 1 needs generation t.

    Examples:
        >>> import torch, weft
        >>> net = weft.StrNN(weft.graph.chain(3), hidden=(6,))
        >>> schedule = weft.nn.LevelSchedule(net)
        >>> [generation.tolist() for generation in schedule.generations]
        [[0], [1], [2]]
        >>> [stage.tolist() for stage in schedule.units[0]]
        [[], [0, 2, 4], [1, 3, 5], []]
        >>> walk, x = schedule.walk(batch=5), torch.randn(5, 3)
        >>> pieces = []
        >>> for generation in schedule.generations:
        ...     pieces.append(walk.outputs())
        ...     walk.advance(x[:, generation])
        >>> torch.allclose(torch.cat(pieces, dim=1), net(x), atol=1e-6)
        True
    """

    def __init__(self, net: StrNN, arrival: Sequence[int] | None = None) -> None:
        if not isinstance(net, StrNN):
            raise ValueError(f"net is a {type(net).__name__}, expected a weft.StrNN.")  # noqa: TRY004
        self.net = net
        arrived = _arrival(net, arrival)
        count = int(arrived.max()) + 1 if len(arrived) else 0
        self.generations = tuple(np.flatnonzero(arrived == t) for t in range(count))

        masks = net.expanded_masks()
        columns = np.repeat(arrived, net.input_sizes) + 1
        stages = [np.concatenate([columns, np.zeros(net.context, dtype=np.int64)])]
        for mask in masks:
            stages.append(_stages(mask, stages[-1]))
        needed = stages[-1]
        if arrival is None:
            stages[-1] = np.repeat(arrived, net.output_sizes)
        last = max(count, int(needed.max(initial=0)))

        order = np.lexsort((np.arange(len(stages[0])), stages[0]))
        bounds = _bounds(stages[0], last)
        self._inputs = _Layer(order, bounds, bounds, None)
        self._layers: list[_Layer] = []
        for mask, stage in zip(masks, stages[1:], strict=True):
            below, known = order, bounds[1:]
            plan = BlockPlan.of(mask, below, stage) if net.execution == "sparse" else None
            order = np.lexsort((np.arange(len(stage)), stage)) if plan is None else plan.order
            bounds = _bounds(stage, last)
            self._layers.append(_Layer(order, bounds, known, plan))

        self.units = tuple(
            tuple(np.sort(layer.order[layer.places(stage)]) for stage in range(last + 1)) for layer in self._layers[:-1]
        )
        self._output_rows = tuple(np.sort(self._layers[-1].order[self._layers[-1].places(s)]) for s in range(last + 1))
        variable = np.repeat(np.arange(len(net.output_sizes)), net.output_sizes)
        outputs = [np.unique(variable[rows]) for rows in self._output_rows]
        while len(outputs) > count and not len(outputs[-1]):
            outputs.pop()
        self.outputs = tuple(outputs)
        self._prepared: dict[torch.device, _Prepared] = {}

    def walk(self, batch: int, context: Tensor | None = None) -> Walk:
        """Begin to evaluate the network on rows whose variables are not known yet.

        Args:
            batch: Number of rows.
            context: Context (batch, context), where the network has one.
        """
        return Walk(self, batch, context)

    def _tensors(self, device: torch.device) -> _Prepared:
        """Return the index tensors on a device, made once."""
        if device not in self._prepared:
            self._prepared[device] = _Prepared.of(self, device)
        return self._prepared[device]

    def __repr__(self) -> str:
        units = sum(len(layer.order) for layer in self._layers[:-1])
        return f"LevelSchedule({len(self.generations)} generations, {units:,} hidden units, {self.net.execution})"


class Walk:
    """An evaluation under way: read the outputs of the next generation, decide its values, advance.

    Gradients flow through it to the parameters, the context and the values given. Made by `LevelSchedule.walk`.
    """

    def __init__(self, schedule: LevelSchedule, batch: int, context: Tensor | None) -> None:
        net = schedule.net
        weight = net.layers[0].weight
        self._batch = check_whole("batch", batch, error=ValueError)
        check_context(context, net.context, (self._batch,), weight)
        self.schedule = schedule
        self.generation = 0
        self._index = schedule._tensors(weight.device)
        self._weights = [_stage_weights(net, number, schedule) for number in range(len(net.layers))]
        sizes = [len(layer.order) for layer in (schedule._inputs, *schedule._layers[:-1])]
        self._known = [weight.new_zeros(size, self._batch) for size in sizes]
        if context is not None:
            self._known[0][schedule._inputs.places(0)] = context.t()
        self._compute(0)

    def outputs(self) -> Tensor:
        """Return the outputs that can be read now: those of the next generation.

        They have the shape that the network's ``forward`` gives, with only these variables (see
        ``schedule.outputs[walk.generation]``).
        """
        schedule, stage = self.schedule, self.generation
        if stage >= len(schedule.outputs):
            raise ValueError(f"all {len(schedule.generations)} generations have been walked; begin a new walk.")
        rows = self._units(len(schedule._layers) - 1, stage)
        restore = self._index.restore[stage]
        rows = rows if restore is None else rows.index_select(0, restore)
        return schedule.net.shape_outputs(rows.t())

    def advance(self, values: Tensor) -> None:
        """Take the values of the next generation, and compute every unit that they complete.

        Args:
            values: (batch, columns of ``schedule.generations[walk.generation]``), variables in that order.
        """
        schedule = self.schedule
        if self.generation >= len(schedule.generations):
            raise ValueError(f"all {len(schedule.generations)} generations have been walked; begin a new walk.")
        places = schedule._inputs.places(self.generation + 1)
        expected = (self._batch, places.stop - places.start)
        names = shorten(schedule.net.structure.inputs[j] for j in schedule.generations[self.generation])
        of = f"for generation {self.generation} ({names})"
        check_tensor(f"the tensor of values {of}", values, self._known[0])
        if values.shape != expected:
            raise ValueError(f"expected values of shape {expected} {of}, got {tuple(values.shape)}.")
        self._known[0][places] = values.t()
        self.generation += 1
        self._compute(self.generation)

    def _compute(self, stage: int) -> None:
        """Compute the hidden units of one stage, layer after layer."""
        net = self.schedule.net
        for number, activation in enumerate(net.activations):
            places = self.schedule._layers[number].places(stage)
            if places.start == places.stop:
                continue
            units = activation(self._units(number, stage))
            if net.residual and number > 0:
                skip, allowed = self._index.skips[number - 1]
                units = units + self._known[number].index_select(0, skip[places]) * allowed[places].unsqueeze(1)
            self._known[number + 1][places] = units

    def _units(self, number: int, stage: int) -> Tensor:
        """Return the units of one layer and stage before the activation, (units, batch)."""
        below, layer = self._known[number], self.schedule._layers[number]
        weight, bias = self._weights[number][stage]
        if layer.plan is not None:
            buckets = self._index.buckets[number][stage]
            return run_blocks(below, weight, bias, self._index.gather[number][stage], buckets, growing=True)
        read = below[: int(layer.known[stage])]
        if torch.is_grad_enabled():
            read = read.clone()  # autograd keeps it for the weights' gradient, and later stages write behind it
        return weight @ read if bias is None else torch.addmm(bias.unsqueeze(1), weight, read)


@dataclass(frozen=True, eq=False)
class _Prepared:
    """The index tensors of a schedule on one device."""

    gather: list[list[Tensor]]
    buckets: list[list[tuple[Bucket, ...]]]
    restore: list[Tensor | None]
    skips: list[tuple[Tensor, Tensor]]

    @classmethod
    def of(cls, schedule: LevelSchedule, device: torch.device) -> _Prepared:
        net, layers = schedule.net, schedule._layers
        stages = len(layers[0].bounds) - 1
        gather: list[list[Tensor]] = []
        buckets: list[list[tuple[Bucket, ...]]] = []
        for layer in layers:
            if layer.plan is None:
                continue
            grouped = {stage: tuple(group) for stage, group in itertools.groupby(layer.plan.buckets, lambda b: b.stage)}
            buckets.append([grouped.get(stage, ()) for stage in range(stages)])
            sizes = [sum(bucket.gathered for bucket in group) for group in buckets[-1]]
            gather.append(list(torch.from_numpy(layer.plan.gather).to(device).split_with_sizes(sizes)))
        restore: list[Tensor | None] = []
        for stage in range(stages):
            order = layers[-1].order[layers[-1].places(stage)]
            tidy = bool(np.all(np.diff(order) > 0))
            restore.append(None if tidy else torch.from_numpy(np.argsort(order)).to(device))
        skips = []
        if net.residual:
            masks = net.expanded_masks()
            for number in range(1, len(net.hidden)):
                places, allowed = skip_places(masks[number], layers[number].order, layers[number - 1].order)
                skips.append((torch.from_numpy(places).to(device), torch.from_numpy(allowed).to(device)))
        return cls(gather, buckets, restore, skips)


def _stage_weights(net: StrNN, number: int, schedule: LevelSchedule) -> list[tuple[Tensor, Tensor | None]]:
    """Return the weights and biases of each stage of a layer, rearranged from those of the network."""
    module, layer = net.layers[number], schedule._layers[number]
    device = module.weight.device
    flat, bias = module.read()
    order = torch.from_numpy(layer.order).to(device)
    sizes = np.diff(layer.bounds).tolist()
    biases = [None] * len(sizes) if bias is None else bias[order].split_with_sizes(sizes)
    weights: Sequence[Tensor]
    if layer.plan is not None:
        kept = np.zeros(len(sizes), dtype=np.int64)
        for bucket in layer.plan.buckets:
            kept[bucket.stage] += bucket.weights
        weights = flat[torch.from_numpy(layer.plan.entries).to(device)].split_with_sizes(kept.tolist())
    else:
        dense = cast("MaskedLinear", module)
        below = torch.from_numpy((schedule._layers[number - 1] if number else schedule._inputs).order).to(device)
        rows = (dense.weight * dense.mask)[order][:, below].split_with_sizes(sizes)
        weights = [row[:, : int(known)] for row, known in zip(rows, layer.known, strict=True)]
    return list(zip(weights, biases, strict=True))


def _arrival(net: StrNN, arrival: Sequence[int] | None) -> np.ndarray:
    """Return the generation in which each variable arrives."""
    structure = net.structure
    rows, columns = structure.shape
    if arrival is not None:
        given = np.asarray(arrival)
        read = given.shape == (columns,) and (given.dtype.kind in "iu" or not columns)
        if not read or not np.all((given >= 0) & (given < columns)):
            raise ValueError(
                f"arrival is {show(arrival)}, expected one generation, an integer from 0 to {max(columns - 1, 0)}, for "
                f"each of {columns} variables ({shorten(structure.inputs)})."
            )
        return given.astype(np.int64)
    if rows != columns:
        raise ValueError(
            f"the structure has shape {structure.shape}, so its variables have no generations of their own; pass "
            f"arrival=, one integer per input."
        )
    if structure.outputs != structure.inputs:
        raise ValueError(
            f"the rows of the structure are {shorten(structure.outputs, 5)}, its columns "
            f"{shorten(structure.inputs, 5)}, so its variables have no generations of their own; name both alike, or "
            f"pass arrival=, one integer per input."
        )
    return np.asarray(structure.dag().levels, dtype=np.int64)


def _stages(mask: sp.csr_array, below: np.ndarray) -> np.ndarray:
    """Return the latest stage among the inputs of each unit, 0 for a unit without inputs."""
    stages = np.zeros(mask.shape[0], dtype=np.int64)
    filled = np.diff(mask.indptr) > 0
    if filled.any():
        stages[filled] = np.maximum.reduceat(below[mask.indices], mask.indptr[:-1][filled])
    return stages


def _bounds(stages: np.ndarray, last: int) -> np.ndarray:
    """Return where each stage, from 0 to last, begins once units are sorted by stage; the end follows."""
    return np.concatenate([[0], np.cumsum(np.bincount(stages, minlength=last + 1))])
