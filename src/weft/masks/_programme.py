"""The integer programme of one layer: how many units each biclique gets."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp

from ._bicliques import MOST_CELLS, Bicliques, FloatArray, IntArray
from ._objectives import Objective
from ._products import multiply

__all__ = ["Outcome", "Programme"]

_RELAXED_ROUNDS = 40
_TOLERANCE = 1e-6
_SHORTEST = 0.05  # seconds: less than this is not worth a call of the solver


@dataclass(frozen=True)
class Outcome:
    """The units of every biclique, their value, and what no choice can exceed."""

    counts: IntArray
    value: float
    bound: float
    optimal: bool


@dataclass(frozen=True, eq=False)
class Programme:
    """Choose a number of units for every biclique: all ones covered, the objective as large as can be.

    Concave curves are replaced by envelopes of straight lines above them, refined where the solver strays beyond the
    curve, until the solver's bound meets the value of a choice it found. An envelope leaves every choice what it is
    worth or more, so the bound holds at any time.

    Args:
        objective: What to maximise.
        bicliques: What a unit can be.
        width: Number of units.
        size: Number of entries of the matrix, zeros included.
        deadline: When to stop, on the clock of `time.monotonic`.
        complete: Whether the bicliques include all that an optimum may need.
    """

    objective: Objective
    bicliques: Bicliques
    width: int
    size: int
    deadline: float
    complete: bool

    def solve(self, most_distinct: int) -> Outcome:
        """Return the best choice found; one that leaves ones uncovered only where no better is known.

        Args:
            most_distinct: Most bicliques to use where there are more kinds of rows than that, so that narrower layers
                above can carry what this one makes. The bound knows no such limit: more kinds may be carried too.
        """
        if not self.bicliques.matrix.nnz:
            return Outcome(np.zeros(len(self.bicliques), dtype=np.int64), 0.0, 0.0, optimal=True)
        if self.bicliques.cells > MOST_CELLS:
            return self._copied()
        if most_distinct >= min(self.width, self.bicliques.extents.shape[1]):
            return self._solve(None)
        free = replace(self, deadline=time.monotonic() + self._left() / 2)._solve(None)
        if np.count_nonzero(free.counts) <= most_distinct:
            return free
        limited = self._solve(most_distinct)
        return replace(limited, bound=free.bound, optimal=limited.optimal and _meet(limited.value, free.bound))

    def _solve(self, distinct: int | None) -> Outcome:
        best = self._start(distinct or self.width)
        value, bound = self._value(best), self._ceiling()
        envelope = self._envelope()
        relaxed = envelope is not None
        rounds = 0
        while not _meet(value, bound):
            left = self._left()
            if left < _SHORTEST or self.covers.nnz > MOST_CELLS:
                break
            found = self._call(envelope, distinct, integral=not relaxed, seconds=left)
            reached = found.fun if relaxed and found.status == 0 else None if relaxed else found.mip_dual_bound
            if self.complete and reached is not None:
                bound = min(bound, -float(reached) + (envelope.constant if envelope else 0.0))
            if found.x is None:
                break  # infeasible, or no time left: what is known so far stands
            counts = found.x[: len(self.bicliques)]
            rounded = np.rint(counts).astype(np.int64) if not relaxed else self._rounded(counts, distinct)
            if (worth := self._value(rounded)) > value:
                best, value = rounded, worth
            if found.status != 0:
                break
            refined = envelope is not None and envelope.refine(self._arguments(counts if relaxed else rounded))
            rounds += 1
            if relaxed and (not refined or rounds == _RELAXED_ROUNDS):
                relaxed = False
            elif not refined:
                break
        optimal = self.complete and _meet(value, bound)
        return Outcome(best, value, value if optimal else bound, optimal)

    def _copied(self) -> Outcome:
        """Let every row, or column, have the same number of units, without a look at what covers what."""
        counts = self.width // len(self.bicliques) + (np.arange(len(self.bicliques)) < self.width % len(self.bicliques))
        readers, inputs = self.bicliques.masks(counts, self.width)
        paths = multiply(readers, inputs, np.float64).data
        value = self.objective.value(paths, np.ones(len(paths)), self.size)
        return Outcome(counts, value, self._ceiling(), optimal=False)

    def fewest_units(self) -> int:
        """Return the least number of bicliques that cover all ones, or the least found in time."""
        if self.bicliques.cells > MOST_CELLS:
            return len(self.bicliques)
        best = int((self._start(self.covers.shape[0]) > 0).sum())
        left = self._left()
        if not self.covers.shape[0] or left < _SHORTEST or self.covers.nnz > MOST_CELLS:
            return best
        found = milp(
            np.ones(len(self.bicliques)),
            integrality=np.ones(len(self.bicliques)),
            bounds=Bounds(0, 1),
            constraints=LinearConstraint(self.covers, 1, np.inf),
            options=_options(left, presolve=False),
        )
        return best if found.x is None else min(best, round(found.fun))

    @cached_property
    def covers(self) -> sp.csr_array:
        """Which biclique covers which entry, as a (entries, bicliques) matrix."""
        return self.bicliques.covers()

    @cached_property
    def covered(self) -> sp.csc_array:
        """The same matrix, stored by biclique."""
        return sp.csc_array(self.covers)

    def _left(self) -> float:
        return self.deadline - time.monotonic()

    def _value(self, counts: IntArray) -> float:
        paths = self.covers @ counts
        return self.objective.value(paths, self.bicliques.weights, self.size) if paths.all() else -np.inf

    def _ceiling(self) -> float:
        ones = float(self.bicliques.weights.sum())
        largest = min(ones, self.bicliques.largest_area)
        most = self.width * largest
        if self.complete:  # the only biclique that covers some entry has at least one unit
            only = np.unique(self.covers.indices[self.covers.indptr[:-1][np.diff(self.covers.indptr) == 1]])
            most -= float((largest - self.bicliques.areas[only]).sum())
        return self.objective.ceiling(most / ones, ones, self.size)

    def _start(self, distinct: int) -> IntArray:
        """Cover greedily, or by copying rows or columns, whichever needs the fewest units; then add what gains most."""
        kinds = len(self.bicliques)
        if not self.covers.shape[0]:
            return np.zeros(kinds, dtype=np.int64)
        members = (self.bicliques.extents, self.bicliques.intents)
        chosen = [_counts(_copies(*pair), kinds) for pair in (members, members[::-1])]
        whole = [each for each in chosen if each.sum() <= distinct and (self.covers @ each).all()]
        covering = self._covering(np.zeros(kinds, dtype=np.int64), distinct, until=self.deadline if whole else np.inf)
        if (self.covers @ covering).all():
            whole.append(covering)
        return self._filled(min(whole, key=np.sum), distinct) if whole else covering

    def _rounded(self, counts: FloatArray, distinct: int | None) -> IntArray:
        """Round down a choice that is not whole, cover again by what was cut off most, and fill again."""
        most = distinct or self.width
        whole = np.floor(counts + 1e-6).astype(np.int64)
        if np.count_nonzero(whole) > most or whole.sum() > self.width:
            whole[:] = 0  # beyond the limits, which hold only for the choice as it was: start anew
        return self._filled(self._covering(whole, most, wanted=counts - whole, until=self.deadline), most)

    def _covering(
        self, counts: IntArray, distinct: int, wanted: FloatArray | None = None, until: float = np.inf
    ) -> IntArray:
        """Add the biclique that covers most of what is not covered, until all is, or no unit or time is left.

        Of all that cover any of it the most wanted is added, where it is known what is wanted.
        """
        counts = counts.copy()
        uncovered = np.where(self.covers @ counts > 0, 0.0, self.bicliques.weights)
        while uncovered.any() and np.count_nonzero(counts) < distinct and counts.sum() < self.width:
            if time.monotonic() > until:
                break
            score = uncovered @ self.covered
            if wanted is not None:
                score = np.where(score > 0, wanted + 1e-6 * score, -np.inf)
            best = int(np.argmax(score))
            counts[best] += 1
            uncovered[self._entries_of(best)] = 0
        return counts

    def _filled(self, counts: IntArray, distinct: int) -> IntArray:
        """Give every unit that is left to the biclique that gains most by it."""
        usable = counts > 0 if distinct < self.width else np.ones(len(counts), dtype=bool)
        paths, left = self.covers @ counts, self.width - int(counts.sum())
        while left > 0 and self._left() > 0:
            gains = self.objective.gains(paths, self.bicliques.weights, self.size) @ self.covered
            best = int(np.argmax(np.where(usable, gains, -np.inf)))
            if gains[best] <= 0:
                break
            added = 1 if self.objective.curved else left
            counts[best] += added
            paths[self._entries_of(best)] += added
            left -= added
        return counts

    def _entries_of(self, biclique: int) -> IntArray:
        span: IntArray = self.covered.indices[self.covered.indptr[biclique] : self.covered.indptr[biclique + 1]]
        return span

    def _arguments(self, counts: FloatArray | IntArray) -> FloatArray:
        """Return where on its curve every entry lies; last the zeros of the matrix, if the curve is of deviations."""
        paths: FloatArray = self.covers @ counts
        if not self.objective.centred:
            return paths
        return np.append(paths, 0.0) - self.bicliques.weights @ paths / self.size

    def _envelope(self) -> _Envelope | None:
        entries = self.covers.shape[0]
        if not self.objective.curved or not entries:
            return None
        weights = self.bicliques.weights
        if self.objective.centred:
            weights = np.append(weights, self.size - weights.sum())
        low = -float(self.width) if self.objective.centred else 1.0
        return _Envelope(self.objective, weights, self.size, low, float(self.width))

    def _call(self, envelope: _Envelope | None, distinct: int | None, *, integral: bool, seconds: float) -> Any:
        # Columns: units of every biclique; how far every segment of the envelope is filled; the mean path count, if
        # the curve is of deviations; then, where the number of bicliques is limited, whether each is used.
        kinds, entries = len(self.bicliques), self.covers.shape[0]
        areas, segments = self.bicliques.areas, len(envelope.slopes) if envelope else 0
        centred = envelope is not None and self.objective.centred
        columns = kinds + segments + centred + (kinds if distinct else 0)
        low, high, worth = np.zeros(columns), np.full(columns, float(self.width)), np.zeros(columns)
        worth[:kinds] = self.objective.per_path * areas

        def placed(block: Any, start: int, rows: int) -> sp.csr_array:
            block = sp.coo_array(block)
            return sp.csr_array((block.data, (block.row, block.col + start)), shape=(rows, columns))

        idle = not self.objective.is_monotone(self.width, self.size)
        constraints = [
            LinearConstraint(placed(np.ones((1, kinds)), 0, 1), 0 if idle else self.width, self.width),
        ]
        if not envelope or centred:
            constraints.append(LinearConstraint(placed(self.covers, 0, entries), 1, np.inf))
        if envelope:
            count = entries + centred
            worth[kinds : kinds + segments], high[kinds : kinds + segments] = envelope.worths, envelope.lengths
            reached = placed(self.covers, 0, count) - placed(envelope.fills(), kinds, count)
            if centred:
                mean = kinds + segments
                reached = reached - placed(np.ones((count, 1)), mean, count)
                averaged = placed(areas[None, :] / self.size, 0, 1) - placed(np.ones((1, 1)), mean, 1)
                constraints.append(LinearConstraint(averaged, 0, 0))
            constraints.append(LinearConstraint(reached, envelope.low, envelope.low))
        if distinct:
            used = columns - kinds
            high[used:] = 1
            limited = placed(sp.eye_array(kinds), 0, kinds) - self.width * placed(sp.eye_array(kinds), used, kinds)
            constraints += [
                LinearConstraint(limited, -np.inf, 0),
                LinearConstraint(placed(np.ones((1, kinds)), used, 1), 0, distinct),
            ]
        whole = np.zeros(columns)
        whole[:kinds] = integral
        whole[columns - kinds if distinct else columns :] = integral
        return milp(
            -worth,
            integrality=whole,
            bounds=Bounds(low, high),
            constraints=constraints,
            options=_options(seconds, presolve=envelope is not None),
        )


class _Envelope:
    """For every entry the least of some lines above its curve, as segments to be filled, the steepest first.

    A linear programme that maximises fills the segments of a concave function in the right order by itself; so every
    line costs a bounded variable, and no constraint.
    """

    def __init__(self, objective: Objective, weights: FloatArray, size: int, low: float, high: float) -> None:
        self.objective, self.weights, self.size, self.low, self.high = objective, weights, size, low, high
        self.entries: IntArray = np.zeros(0, dtype=np.int64)
        self.slopes = self.intercepts = np.zeros(0)
        grid = 2.0 ** np.arange(np.ceil(np.log2(high)) + 1)
        for at in [*-grid[grid <= -low], 0.0, *grid] if objective.centred else grid:
            self._add(np.arange(len(weights)), np.full(len(weights), at))

    def refine(self, arguments: FloatArray) -> bool:
        """Add lines that touch the curves at these arguments where the envelope lies above them; tell whether any."""
        lines = self.objective.lines(arguments, self.size)
        curve: FloatArray = np.min([slope * arguments + intercept for slope, intercept in lines], axis=0)
        heights = np.full(len(self.weights), np.inf)
        np.minimum.at(heights, self.entries, self.slopes * arguments[self.entries] + self.intercepts)
        above = np.flatnonzero(heights > curve + 1e-9 * np.maximum(1, np.abs(curve)))
        before = len(self.slopes)
        self._add(above, arguments[above])
        return len(self.slopes) > before

    def _add(self, entries: IntArray, arguments: FloatArray) -> None:
        lines = self.objective.lines(arguments, self.size)
        found = np.concatenate([self.entries, *[entries] * len(lines)])
        slopes = np.concatenate([self.slopes, *(slope for slope, _ in lines)])
        intercepts = np.concatenate([self.intercepts, *(intercept for _, intercept in lines)])
        order = np.lexsort((-slopes, found))
        found, slopes, intercepts = found[order], slopes[order], intercepts[order]
        same = (np.diff(found) == 0) & (np.diff(slopes) > -1e-10 * np.maximum(1, np.abs(slopes[1:])))
        kept = np.append(True, ~same)[: len(found)]
        self.entries, self.slopes, self.intercepts = found[kept], slopes[kept], intercepts[kept]

    @property
    def _first(self) -> npt.NDArray[np.bool_]:
        return np.append(True, np.diff(self.entries) > 0)

    @property
    def lengths(self) -> FloatArray:
        """How long every segment is, from where its line meets the one before to where it meets the next."""
        with np.errstate(divide="ignore", invalid="ignore"):
            meet = np.diff(self.intercepts) / -np.diff(self.slopes)
        first = self._first
        starts = np.where(first, self.low, np.append(self.low, np.clip(meet, self.low, self.high)))
        ends = np.where(np.append(first[1:], True), self.high, np.append(starts[1:], self.high))
        return np.asarray(np.maximum(ends - starts, 0.0))

    @property
    def worths(self) -> FloatArray:
        """What a unit of every segment is worth."""
        return np.asarray(self.weights[self.entries] * self.slopes)

    @property
    def constant(self) -> float:
        """What the envelopes are worth at the low end, where no segment is filled."""
        first = self._first
        return float(self.weights @ (self.slopes[first] * self.low + self.intercepts[first]))

    def fills(self) -> sp.csr_array:
        """Mark which entry (row) every segment (column) belongs to."""
        count = len(self.slopes)
        return sp.csr_array((np.ones(count), (self.entries, np.arange(count))), shape=(len(self.weights), count))


def _meet(value: float, bound: float) -> bool:
    # Path counts are whole, so a large bound must be met to less than one.
    return value >= bound - _TOLERANCE * max(1.0, min(abs(bound), 1e5))


def _options(seconds: float, *, presolve: bool) -> dict[str, Any]:
    # Presolving does not look at the clock, and takes longer than it saves where a programme is only about covering;
    # with the segments of an envelope the solver needs it for its numerical safety.
    return {"time_limit": seconds, "mip_rel_gap": 0, "presolve": presolve}


def _copies(members: sp.csr_array, opposite: sp.csr_array) -> IntArray:
    """Return, for every row class, the biclique with that row as its inputs (or the same with columns)."""
    sizes = np.diff(opposite.indptr)
    by_member = members.tocsc()
    chosen = [
        by_member.indices[a:b][np.argmax(sizes[by_member.indices[a:b]])]
        for a, b in zip(by_member.indptr, by_member.indptr[1:], strict=False)
        if a < b
    ]
    return np.unique(np.asarray(chosen, dtype=np.int64))


def _counts(chosen: IntArray, kinds: int) -> IntArray:
    counts = np.zeros(kinds, dtype=np.int64)
    counts[chosen] = 1
    return counts
