"""A factorization as a picture: structure, masks and path counts, with one output followed through them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from .._errors import FactorizationError, cut, show, suggest
from ._explain import compact, few, log_counts, plural, seen_by_layer, twins
from ._panels import DARK, EMPTY, FOLLOWED, KEPT, Axis, Panel, compose

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ._factorization import Factorization

__all__ = ["draw"]

_MOST_SIDE, _MOST_MASKS = 5000, 12
_LEAST_WRITTEN = 13.0  # points of a cell that has room for a count
_CROSS, _ARROW = "\N{MULTIPLICATION SIGN}", " \N{RIGHTWARDS ARROW} "


def draw(factorization: Factorization, output: Hashable | None = None) -> Figure:
    """Return the picture that `Factorization.plot` shows."""
    f = factorization
    row = _read_output(f, output)
    longest = max(*f.structure.shape, *f.widths)
    if longest > _MOST_SIDE or len(f.masks_sparse) > _MOST_MASKS:
        raise FactorizationError(
            f"got {plural(len(f.masks_sparse), 'mask')} with up to {longest:,} rows or columns, expected at most "
            f"{_MOST_MASKS} masks and {_MOST_SIDE:,} rows or columns in a picture; factorize and plot a part of the "
            f"structure, or read `explain()`, which sums up any size."
        )
    rows, columns = f.structure.shape
    sizes = [plural(columns, "input"), *(plural(width, "unit") for width in f.widths), plural(rows, "output")]
    head = f"{f.method}: {_ARROW.join(sizes)}"
    lost = f"{plural(len(f.lost), 'edge')} lost" if f.lost else "none lost"
    cells = sum(mask.shape[0] * mask.shape[1] for mask in f.masks_sparse)
    line = f"{plural(f.structure.edges_count, 'edge')}, {lost}; {f.weights:,} of {plural(cells, 'weight')} kept."
    panels = _Picture(f, row).panels()
    legend = [(KEPT, "", "kept"), (EMPTY, "", "masked: always zero")]
    if row is not None:
        name = cut(f.structure.outputs[row])
        line += f" Orange follows {name}."
        legend += [(FOLLOWED, "", f"leads to {name}")]
        if any(_CROSS in panel.texts.values() for panel in panels):
            legend.append((KEPT, _CROSS, f"an input that {name} must not see"))
    if panels[-1].marked:
        legend.append((EMPTY, "0", "an edge that is lost"))
    return compose(head, line, panels, legend)


def _read_output(f: Factorization, output: Hashable | None) -> int | None:
    """Return the row of the output to follow; nothing where no output depends on anything."""
    outputs = f.structure.outputs
    if output is None:
        rows = np.flatnonzero(np.diff(f.structure.matrix.indptr))
        return int(rows[-1]) if len(rows) else None
    if not isinstance(output, Hashable) or output not in set(outputs):
        raise FactorizationError(
            f"output={show(output)} is not an output{suggest(output, outputs)}. Outputs: {few(outputs, 10) or 'none'}."
        )
    return outputs.index(output)


class _Picture:
    """The panels of a factorization, for one output (or none) that is followed."""

    def __init__(self, f: Factorization, row: int | None) -> None:
        self.f = f
        self.row = row
        structure = f.structure
        self.name = "" if row is None else cut(structure.outputs[row])
        self.is_copying = f.method in ("greedy", "zuko")
        chosen = np.arange(structure.shape[0]) == (-1 if row is None else row)
        allowed = chosen[None, :].astype(np.int64) @ structure.matrix > 0
        self.outputs = Axis("outputs", [cut(name) for name in structure.outputs], chosen, chosen)
        self.inputs = Axis("inputs", [cut(name) for name in structure.inputs], allowed[0], allowed[0])
        # Which units lead to the output, by layer, walking back from it.
        self.leads = [chosen]
        for mask in f.masks_sparse[:0:-1]:
            self.leads.insert(0, self.leads[0].astype(np.int64) @ mask > 0)

    def panels(self) -> list[Panel]:
        """Return the structure, the masks and the path counts."""
        below, masks, panels = self.inputs, self.f.masks_sparse, [self._structure()]
        seen = seen_by_layer(masks)
        for number in range(1, len(masks)):
            panel = self._mask(number, seen[number - 1], below)
            panels.append(panel)
            units = [str(k + 1) for k in range(masks[number - 1].shape[0])]
            below = Axis(panel.rows.name, units, panel.rows.followed, panel.rows.bold, is_numbered=True)
        return [*panels, self._last(below), self._paths()]

    def _structure(self) -> Panel:
        caption = "Row by row, the inputs that each output may depend on."
        if self.row is not None:
            inputs = [self.f.structure.inputs[j] for j in np.flatnonzero(self.inputs.followed)]
            caption += f" {self.name} may depend on {few(inputs, 4) or 'nothing'}."
        return Panel("Structure", caption, self.outputs, self.inputs, _ones(self.f.structure.matrix))

    def _mask(self, number: int, seen: sp.csr_array, below: Axis) -> Panel:
        """Return a mask whose rows are hidden units."""
        f, mask, leads = self.f, self.f.masks_sparse[number - 1], self.leads[number - 1]
        like = twins(f, seen)
        same = np.array([self.row in outputs for outputs in like])
        rows = Axis(f"units of layer {number}", _labels(f, like), leads, leads & same)
        crossed = {}
        if number == 1 and self.row is not None and rows.is_labelled and below.is_labelled:
            cells = [(int(i), int(j)) for i, j in zip(*mask.nonzero(), strict=True)]
            crossed = {(i, j): _CROSS for i, j in cells if not leads[i] and not below.followed[j]}
        if not f.structure.edges_count:
            caption = "No output depends on anything, so every unit is idle."
        elif self.is_copying:
            caption = f"Each unit copies the row of {'the output named beside it' if rows.is_labelled else 'an output'}"
            caption += "." if number == 1 else ", and reads all units whose row is part of it."
        else:
            caption = f"Which {'inputs' if number == 1 else 'units'} each unit reads."
            if rows.is_labelled and any(like):
                caption += " A unit named after an output sees just what that output may depend on."
        if self.row is not None:
            caption += f" {self._lead(int(leads.sum()), int(rows.bold.sum()))}"
        title = f"Mask {number}: " + ("inputs to layer 1" if number == 1 else f"layer {number - 1} to layer {number}")
        return Panel(title, caption, rows, below, _ones(mask), texts=crossed)

    def _lead(self, count: int, same: int) -> str:
        said = f"{plural(count, 'unit')} {'leads' if count == 1 else 'lead'} to {self.name}"
        if not self.is_copying or not count:
            return f"{said}."
        if same == count:
            return f"{said}, with its own row."
        return f"{said}: {same:,} with its own row (bold), {count - same:,} with a part of it."

    def _last(self, below: Axis) -> Panel:
        """Return the mask whose rows are the outputs."""
        mask = self.f.masks_sparse[-1]
        if not self.f.widths:
            title, caption = "Mask 1: inputs to outputs", "Without hidden layers the mask is the structure itself."
        else:
            title = f"Mask {len(self.f.widths) + 1}: layer {len(self.f.widths)} to outputs"
            caption = "Which units each output reads."
            if self.is_copying:
                caption = "Each output reads all units whose row is part of its own."
            if self.row is not None:
                caption += f" {self.name} reads {plural(int(np.diff(mask.indptr)[self.row]), 'unit')}."
        return Panel(title, caption, self.outputs, below, _ones(mask))

    def _paths(self) -> Panel:
        """Return the product of the masks, the number of paths from each input to each output."""
        f, texts, lost = self.f, {}, []
        logs = log_counts(f)
        ink = _ones(f.reach)
        written = min(self.outputs.cell, self.inputs.cell) > _LEAST_WRITTEN
        if logs is not None and logs.nnz:
            ink = sp.coo_array((0.3 + 0.7 * logs.data / logs.data.max(), logs.coords), shape=logs.shape)
            if written:
                cells = zip(*logs.coords, logs.data, strict=True)
                texts = {(int(i), int(j)): compact(log - 1) for i, j, log in cells}
        if self.outputs.is_labelled and self.inputs.is_labelled:
            gone = sp.coo_array(f.structure.matrix > f.reach)
            lost = [(int(i), int(j)) for i, j in zip(*gone.coords, strict=True)]
            texts |= dict.fromkeys(lost, "0") if written else {}
        caption = "How many ways lead from an input to an output: the product of the masks"
        caption += ", filled just where the structure is." if not f.lost else f". {plural(len(f.lost), 'edge')} lost."
        return Panel("Paths", caption, self.outputs, self.inputs, ink, DARK, texts, lost)


def _labels(f: Factorization, like: list[list[int]]) -> list[str]:
    """Number the units and name each after an output with just its row; equal rows lend their names in turn."""
    used: dict[int, int] = {}
    labels = []
    for number, outputs in enumerate(like, start=1):
        if outputs:
            turn = used.get(outputs[0], 0)
            used[outputs[0]] = turn + 1
            labels.append(f"{cut(f.structure.outputs[outputs[turn % len(outputs)]])}  {number}")
        else:
            labels.append(str(number))
    return labels


def _ones(matrix: sp.csr_array) -> sp.coo_array:
    return sp.coo_array(matrix, dtype=float)
