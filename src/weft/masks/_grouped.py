"""Private sub-networks, one team of units after another: weights linear in the edges on any graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .._arguments import check_whole
from .._errors import FactorizationError
from ..graph import Structure
from ._containment import distinct_rows
from ._factorizer import Factorizer, Solution
from ._products import refuse_large

__all__ = ["Grouped"]


@dataclass(frozen=True)
class Grouped(Factorizer):
    """Give every distinct parent set its own units, in teams that read nothing but their parents and each other.

    The units that a parent set has in a layer are split into teams of about ``fan_in``; sets of more than ``fan_in``
    squared parents have larger teams. A team reads all the parents, or one whole team below (several, where the layer
    below has more), and each of its units a window of those, no wider than ``fan_in`` unless the team is too small to
    read everything. An output reads one team of its set, and more where teams would go unread. So every output reaches
    each of its parents, and the number of weights is at most linear in edges and units, on any graph and for any
    widths, also where one hub is the parent of everybody.

    Args:
        fan_in: Most inputs of a unit where the widths allow it.

    Examples:
        >>> import weft
        >>> f = weft.factorize(weft.graph.star(1000), widths=(2000, 2000), method="grouped")
        >>> sum(mask.nnz for mask in f.masks_sparse) < 60_000
        True
    """

    fan_in: int = 16
    name = "grouped"

    def __post_init__(self) -> None:
        check_whole("fan_in", self.fan_in, least=1, error=FactorizationError)

    def least_width(self, structure: Structure) -> int:
        """Return the number of distinct parent sets: each needs a unit of its own."""
        return max(1, len(distinct_rows(structure.matrix)[0]))

    def solve(self, structure: Structure, widths: Sequence[int]) -> Solution:
        """Return the masks; a layer with fewer units than parent sets leaves the last sets without one."""
        matrix = structure.matrix
        if not widths:
            return Solution((matrix,))
        first, like = distinct_rows(matrix)
        sets = len(first)
        if not sets:
            shapes = zip((*widths, matrix.shape[0]), (matrix.shape[1], *widths), strict=True)
            return Solution(tuple(sp.csr_array(shape, dtype=bool) for shape in shapes))
        rows = sp.csr_array(matrix[first])
        parents = np.diff(rows.indptr).astype(np.int64)
        most = min(self.fan_in, max(matrix.shape[1], *widths))
        masks: list[sp.csr_array] = []
        below = _Teams(np.ones(sets, dtype=np.int64), rows.indptr.astype(np.int64))
        for width in widths:
            # How many units serve each parent set; the remainder goes to the first sets.
            units = width // sets + (np.arange(sets) < width % sets)
            team = _Teams.of(units, parents, most)
            unit, place = _windows(team, below, most)
            column = place if masks else rows.indices[place]
            masks.append(_mask(unit, column, (width, masks[-1].shape[0] if masks else matrix.shape[1])))
            below = team
        masks.append(_read_out(like, below))
        return Solution(tuple(masks))


@dataclass(frozen=True, eq=False)
class _Teams:
    """The units of one layer, set by set and team by team.

    Args:
        counts: How many teams each parent set has.
        bounds: Where each team begins among the units of the layer, and where the last one ends.
    """

    counts: np.ndarray
    bounds: np.ndarray

    @classmethod
    def of(cls, units: np.ndarray, parents: np.ndarray, most: int) -> _Teams:
        """Cut the units of each set evenly into teams that can read all its parents, ``most`` a unit."""
        counts = np.minimum(-(-units // most), np.maximum(units // -(-parents // most), 1))
        sets = np.repeat(np.arange(len(units)), counts)
        sizes = units[sets] // counts[sets] + (_position(counts) < units[sets] % counts[sets])
        return cls(counts, np.concatenate([[0], np.cumsum(sizes)]))

    @property
    def offsets(self) -> np.ndarray:
        """Where the teams of each set begin."""
        return _begins(self.counts)


def _windows(team: _Teams, below: _Teams, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return pairs (unit, place below): each team reads whole teams below, each unit a window of their units."""
    sets = np.repeat(np.arange(len(team.counts)), team.counts)
    number, here, there = _position(team.counts), team.counts[sets], below.counts[sets]
    start = number * there // here
    stop = np.minimum(np.maximum(start + 1, (number + 1) * there // here), there)
    low = below.bounds[below.offsets[sets] + start]
    inputs = below.bounds[below.offsets[sets] + stop] - low
    sizes = np.diff(team.bounds)
    window = np.minimum(inputs, np.maximum(most, -(-inputs // sizes)))
    refuse_large(int(window @ sizes), "a mask of method 'grouped'")
    window = np.repeat(window, sizes)
    begin = np.repeat(low, sizes)
    modulus = np.repeat(inputs, sizes)
    unit = np.repeat(np.arange(len(window)), window)
    within = _position(sizes)[unit] * window[unit] + _position(window)
    return unit, begin[unit] + within % modulus[unit]


def _read_out(like: np.ndarray, team: _Teams) -> sp.csr_array:
    """Share the teams of a parent set among the outputs that have it: each team is read, and no more than need be."""
    outputs = np.flatnonzero(like >= 0)
    sets = like[outputs]
    served = np.bincount(sets, minlength=len(team.counts))
    order = np.argsort(sets, kind="stable")
    rank = np.empty(len(outputs), dtype=np.int64)
    rank[order] = _position(served)
    available = team.counts[sets]
    # Output number r of n reads teams r, r + n, r + 2n, … of T; with n > T it shares team r mod T.
    count = np.where(available > 0, np.maximum(1, -(-(available - rank) // served[sets])), 0)
    reader = np.repeat(np.arange(len(outputs)), count)
    which = (rank[reader] + _position(count) * served[sets[reader]]) % available[reader]
    read = team.offsets[sets[reader]] + which
    sizes = np.diff(team.bounds)[read]
    refuse_large(int(sizes.sum()), "the last mask of method 'grouped'")
    units = np.repeat(team.bounds[read], sizes) + _position(sizes)
    return _mask(np.repeat(outputs[reader], sizes), units, (len(like), int(team.bounds[-1])))


def _position(counts: np.ndarray) -> np.ndarray:
    """Count 0, 1, 2, … within each of consecutive groups of these sizes."""
    position: np.ndarray = np.arange(int(counts.sum())) - np.repeat(_begins(counts), counts)
    return position


def _begins(counts: np.ndarray) -> np.ndarray:
    """Return where each of consecutive groups of these sizes begins."""
    begins: np.ndarray = np.cumsum(counts) - counts
    return begins


def _mask(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> sp.csr_array:
    out = sp.csr_array(sp.coo_array((np.ones(len(rows), dtype=bool), (rows, columns)), shape=shape))
    out.sort_indices()
    return out
