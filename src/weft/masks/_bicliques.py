"""The bicliques of a 0/1 matrix: all that a hidden unit of a lossless network can be."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ._containment import containment, distinct_rows
from ._products import refuse_large

__all__ = ["MOST_CELLS", "Bicliques", "FloatArray", "IntArray"]

MOST_CELLS = 1_000_000
"""Ones of all bicliques together; with more of them the solver no longer keeps to its time limit."""

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Bicliques:
    """Blocks T × S of ones of a 0/1 matrix: outputs T that may all read one unit, inputs S that it may read.

    A maximal biclique is a union of classes of equal rows and equal columns, so those are listed over the classes.
    The ones of the matrix of classes, in storage order, are called *entries*.

    Args:
        extents: For every biclique, the row classes in it; a CSR array.
        intents: For every biclique, the column classes in it; a CSR array.
        matrix: The 0/1 matrix of the classes; a CSR array.
        row_classes: For every row class, the rows it stands for; a CSR array.
        column_classes: For every column class, the columns it stands for; a CSR array.
        complete: Whether no biclique of the kind asked for is missing.

    References:
        Ganter, Wille. Formal Concept Analysis, 1999: a maximal biclique is a concept, T its extent, S its intent.

    Examples:
        >>> found = Bicliques.maximal(sp.csr_array([[1, 0, 0], [1, 1, 1]]))
        >>> len(found), found.areas.tolist(), found.complete
        (2, [2.0, 3.0], True)
    """

    extents: sp.csr_array
    intents: sp.csr_array
    matrix: sp.csr_array
    row_classes: sp.csr_array
    column_classes: sp.csr_array
    complete: bool

    @classmethod
    def maximal(cls, matrix: sp.csr_array, limit: int = 50_000, seconds: float = 60.0) -> Bicliques:
        """List the maximal bicliques; if they are too many, those that a row or column generates and the largest."""
        row_classes, rows = _classes(matrix)
        column_classes, columns = _classes(sp.csr_array(matrix.T))
        kept = sp.csr_array(matrix[rows][:, columns])
        if kept.nnz > MOST_CELLS:
            return cls._copied(kept, row_classes, column_classes)
        by_row, by_column = _bitsets(kept), _bitsets(sp.csr_array(kept.T))
        flip = len(by_row) > len(by_column)  # fewer sets have fewer intersections to try
        sets, across = (by_column, by_row) if flip else (by_row, by_column)
        shared, complete = _intersections(sets, limit, time.monotonic() + seconds)
        basic = {(_common(each, across), each) for each in sets} | {(each, _common(each, sets)) for each in across}
        cells = MOST_CELLS - sum(each.bit_count() * other.bit_count() for each, other in basic)
        if cells < 0:
            return cls._copied(kept, row_classes, column_classes)
        found, whole = _largest({(_common(each, across), each) for each in shared} - basic, cells)
        pairs = [(b, a) if flip else (a, b) for a, b in {*basic, *found}]
        return cls._of(pairs, kept, row_classes, column_classes, complete and whole)

    @classmethod
    def _copied(cls, kept: sp.csr_array, row_classes: sp.csr_array, column_classes: sp.csr_array) -> Bicliques:
        """List what each row generates, or each column if they are fewer, without ever looking at a third one."""
        if kept.shape[0] <= kept.shape[1]:
            extents, intents = sp.csr_array(containment(kept).T), kept
        else:
            columns = sp.csr_array(kept.T)
            extents, intents = columns, sp.csr_array(containment(columns).T)
        return cls(extents, intents, kept, row_classes, column_classes, complete=False)

    @classmethod
    def every(cls, matrix: sp.csr_array, limit: int = 20_000) -> Bicliques | None:
        """List all bicliques, or nothing where there are more than the limit."""
        sets = _bitsets(matrix)
        found: list[tuple[int, int]] = []
        for extent, intent in _closed_under_rows(sets):
            if len(found) + (1 << intent.bit_count()) > limit:
                return None
            found += [(extent, part) for part in _subsets(intent)]
        identities = [sp.eye_array(size, dtype=bool, format="csr") for size in matrix.shape]
        return cls._of(found, matrix, identities[0], identities[1], complete=True)

    @classmethod
    def _of(
        cls,
        pairs: Sequence[tuple[int, int]],
        matrix: sp.csr_array,
        row_classes: sp.csr_array,
        column_classes: sp.csr_array,
        complete: bool,  # noqa: FBT001
    ) -> Bicliques:
        # In the order of the matrix (first output, then all outputs, then inputs), so that masks come out tidy.
        members = sorted((_members(extent), _members(intent)) for extent, intent in pairs)
        extents = _indicators([extent for extent, _ in members], matrix.shape[0])
        intents = _indicators([intent for _, intent in members], matrix.shape[1])
        return cls(extents, intents, matrix, row_classes, column_classes, complete)

    def __len__(self) -> int:
        return int(self.extents.shape[0])

    @cached_property
    def weights(self) -> FloatArray:
        """How many ones of the original matrix every entry stands for."""
        heights, breadths = np.diff(self.row_classes.indptr), np.diff(self.column_classes.indptr)
        entries = self.matrix.tocoo()
        return np.asarray(heights[entries.row] * breadths[entries.col], dtype=float)

    @cached_property
    def areas(self) -> FloatArray:
        """How many ones of the original matrix every biclique covers."""
        heights, breadths = np.diff(self.row_classes.indptr), np.diff(self.column_classes.indptr)
        return np.asarray((self.extents @ heights) * (self.intents @ breadths), dtype=float)

    @cached_property
    def cells(self) -> int:
        """How many ones all bicliques cover together, in the matrix of the classes."""
        return int(np.diff(self.extents.indptr).astype(np.int64) @ np.diff(self.intents.indptr))

    @property
    def largest_area(self) -> float:
        """What the area of no biclique exceeds, also of one that is not listed."""
        if self.complete:
            return float(self.areas.max(initial=0))
        rows = np.repeat(self.matrix @ np.diff(self.column_classes.indptr), np.diff(self.row_classes.indptr))
        columns = np.repeat(self.matrix.T @ np.diff(self.row_classes.indptr), np.diff(self.column_classes.indptr))
        # A biclique of t rows is no wider than the t-th longest row.
        return min(float((np.sort(each)[::-1] * np.arange(1, len(each) + 1)).max()) for each in (rows, columns))

    def covers(self) -> sp.csr_array:
        """Mark which entries (rows) each biclique (column) covers."""
        across = self.matrix.shape[1]
        by_extent, by_intent = (np.split(each.indices, each.indptr[1:-1]) for each in (self.extents, self.intents))
        cells = [
            (rows[:, None].astype(np.int64) * across + columns).ravel()
            for rows, columns in zip(by_extent, by_intent, strict=True)
        ]
        entries = np.repeat(np.arange(self.matrix.shape[0]), np.diff(self.matrix.indptr)) * across + self.matrix.indices
        found = [np.searchsorted(entries, each) for each in cells[: len(self)]]
        return sp.csr_array(_indicators(found, len(entries)).T, dtype=float)

    def masks(self, counts: IntArray, width: int) -> tuple[sp.csr_array, sp.csr_array]:
        """Give every biclique that many units, the others none: who reads each unit, and what each unit reads."""
        for members, classes in ((self.intents, self.column_classes), (self.extents, self.row_classes)):
            refuse_large(int(counts @ (members @ np.diff(classes.indptr))), "a mask of method 'exact'")
        units = np.repeat(np.arange(len(self)), counts)
        readers = sp.csr_array(self.extents[units] @ self.row_classes, dtype=bool)
        inputs = sp.csr_array(self.intents[units] @ self.column_classes, dtype=bool)
        readers.resize((width, readers.shape[1]))
        inputs.resize((width, inputs.shape[1]))
        return sp.csr_array(readers.T), inputs


def _classes(matrix: sp.csr_array) -> tuple[sp.csr_array, IntArray]:
    # The classes of equal non-zero rows in order of appearance, and a representative of each.
    first, like = distinct_rows(matrix)
    filled = np.flatnonzero(like >= 0)
    places = (like[filled], filled)
    return sp.csr_array((np.ones(len(filled), dtype=bool), places), shape=(len(first), len(like))), first


def _slice(matrix: sp.csr_array | sp.csc_array, row: int) -> npt.NDArray[np.integer]:
    span: npt.NDArray[np.integer] = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
    return span


def _indicators(members: Sequence[Sequence[int] | IntArray], size: int) -> sp.csr_array:
    indptr = np.cumsum([0, *(len(each) for each in members)])
    indices = np.concatenate([np.empty(0, dtype=np.int64), *map(np.asarray, members)]).astype(np.int64)
    return sp.csr_array((np.ones(len(indices), dtype=bool), indices, indptr), shape=(len(members), size))


def _bitsets(matrix: sp.csr_array) -> list[int]:
    return [sum(1 << int(j) for j in _slice(matrix, row)) for row in range(matrix.shape[0])]


def _members(bits: int) -> list[int]:
    found = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return found


def _common(bits: int, sets: Sequence[int]) -> int:
    # The intersection of the sets at the positions of the bits.
    shared = -1
    for position in _members(bits):
        shared &= sets[position]
    return shared


def _intersections(sets: Sequence[int], limit: int, deadline: float) -> tuple[set[int], bool]:
    # All non-empty intersections of the sets. Smallest sets first, and only partners that share a member: a sparse
    # matrix has few of those, which keeps the work near the number of intersections.
    found: set[int] = set()
    holders: dict[int, list[int]] = {}
    for done, each in enumerate(sorted(set(sets), key=int.bit_count)):
        near = [holders.get(member, []) for member in _members(each)]
        partners = found if sum(map(len, near)) >= len(found) else set().union(*near)
        fresh = ({each & other for other in partners} | {each}) - found - {0}
        found |= fresh
        for new in fresh:
            for member in _members(new):
                holders.setdefault(member, []).append(new)
        if len(found) > limit or time.monotonic() > deadline:
            return found | set(sets), done + 1 == len(set(sets))
    return found, True


def _largest(pairs: set[tuple[int, int]], cells: int) -> tuple[list[tuple[int, int]], bool]:
    # The bicliques with the most ones, as many as keep the sum of their ones within the number of cells.
    areas = {pair: pair[0].bit_count() * pair[1].bit_count() for pair in pairs}
    ranked = sorted(pairs, key=lambda pair: (-areas[pair], pair))
    kept = int(np.searchsorted(np.cumsum([areas[pair] for pair in ranked]), cells, side="right"))
    return ranked[:kept], kept == len(ranked)


def _closed_under_rows(sets: Sequence[int]) -> Iterator[tuple[int, int]]:
    # Every non-empty set of rows with a common column, with all the columns they share.
    stack = [(0, 0, -1)]
    while stack:
        start, extent, intent = stack.pop()
        for row in range(start, len(sets)):
            shared = intent & sets[row]
            if shared:
                yield extent | 1 << row, shared
                stack.append((row + 1, extent | 1 << row, shared))


def _subsets(bits: int) -> Iterator[int]:
    part = bits
    while part:
        yield part
        part = (part - 1) & bits
