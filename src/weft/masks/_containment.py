"""Which rows of a 0/1 matrix are contained in which: the one relation behind all masks of the copying methods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..graph import read_binary_matrix
from ._products import DENSE_ENTRIES

__all__ = ["containment", "distinct_rows"]

DENSE_FLOPS = 3e10
SPARSE_CHECKS = 1e7
"""Rough speeds, per second, of the two ways to find the relation; only their ratio matters, to choose one."""

CHUNK = 4_000_000
"""Candidate pairs examined at a time: bounds the memory."""


def distinct_rows(matrix: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the first index of each distinct non-zero row, and for each row the position of its like (-1 if zero).

    Examples:
        >>> import scipy.sparse as sp
        >>> first, like = distinct_rows(sp.csr_array([[0, 1], [0, 0], [1, 1], [0, 1]]))
        >>> first.tolist(), like.tolist()
        ([0, 2], [0, -1, 1, 0])
    """
    matrix = read_binary_matrix(matrix, "matrix")
    indptr, indices = matrix.indptr, matrix.indices
    seen: dict[bytes, int] = {}
    first: list[int] = []
    like = np.full(matrix.shape[0], -1, dtype=np.int64)
    for row in np.flatnonzero(np.diff(indptr)):
        key = indices[indptr[row] : indptr[row + 1]].tobytes()
        if key not in seen:
            seen[key] = len(first)
            first.append(int(row))
        like[row] = seen[key]
    return np.asarray(first, dtype=np.int64), like


def containment(rows: Any) -> sp.csr_array:
    """Return the boolean matrix whose entry (i, k) tells whether row k is not empty and contained in row i.

    Dense rows go through one matrix product: row k is in row i when they share as many columns as row k has. Sparse
    rows go through candidates: only the rows that own row k's rarest column can contain it, so that hubs cost nothing
    until a row truly is contained in many.

    Examples:
        >>> import scipy.sparse as sp
        >>> containment(sp.csr_array([[1, 0, 0], [1, 1, 0], [0, 0, 1]])).toarray().astype(int).tolist()
        [[1, 0, 0], [1, 1, 0], [0, 0, 1]]
    """
    rows = read_binary_matrix(rows, "matrix")
    full = np.flatnonzero(np.diff(rows.indptr))
    inside = _inside(sp.csr_array(rows[full])).tocoo()
    places = (full[inside.row], full[inside.col])
    return sp.csr_array(sp.coo_array((inside.data, places), shape=(rows.shape[0], rows.shape[0])))


def _inside(rows: sp.csr_array) -> sp.csr_array:
    count, columns = rows.shape
    sizes = np.diff(rows.indptr).astype(np.int64)
    by_column = rows.tocsc()
    degrees = np.diff(by_column.indptr).astype(np.int64)
    rarest = _rarest_column(rows, degrees)
    checks = float(degrees[rarest] @ sizes)
    dense_fits = max(count * columns, count * count) <= DENSE_ENTRIES
    if dense_fits and 2.0 * count * count * columns / DENSE_FLOPS < checks / SPARSE_CHECKS:
        table = rows.toarray().astype(np.float32)
        return sp.csr_array(table @ table.T >= sizes.astype(np.float32))
    found = list(_contained_pairs(rows, sizes, by_column, degrees, rarest))
    bigger = np.concatenate([pair[0] for pair in found]) if found else np.empty(0, np.int64)
    smaller = np.concatenate([pair[1] for pair in found]) if found else np.empty(0, np.int64)
    return sp.csr_array(sp.coo_array((np.ones(len(bigger), dtype=bool), (bigger, smaller)), shape=(count, count)))


def _rarest_column(rows: sp.csr_array, degrees: np.ndarray) -> np.ndarray:
    """Return, for each row, the column of it that the fewest rows have."""
    if not rows.nnz:
        return np.empty(0, dtype=np.int64)
    rank = degrees[rows.indices] * rows.shape[1] + rows.indices
    rarest: np.ndarray = np.minimum.reduceat(rank, rows.indptr[:-1]) % rows.shape[1]
    return rarest


def _contained_pairs(
    rows: sp.csr_array, sizes: np.ndarray, by_column: sp.csc_array, degrees: np.ndarray, rarest: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield chunks of pairs (containing row, contained row)."""
    count, columns = rows.shape
    owners = np.repeat(np.arange(count, dtype=np.int64), sizes)
    keys = owners * columns + rows.indices  # ascending: membership of (row, column) is one binary search
    candidates = degrees[rarest]
    ends = np.cumsum(candidates)
    start = 0
    while start < count:
        done = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, done + CHUNK, side="right")))
        smaller = np.repeat(np.arange(start, stop), candidates[start:stop])
        within = np.arange(len(smaller)) - np.repeat(
            ends[start:stop] - candidates[start:stop] - done, candidates[start:stop]
        )
        bigger = by_column.indices[by_column.indptr[rarest[smaller]] + within].astype(np.int64)
        keep = sizes[bigger] >= sizes[smaller]
        bigger, smaller = bigger[keep], smaller[keep]
        position = 0
        while True:  # one column of each contained row at a time: most candidates fall at the first
            pending = np.flatnonzero(sizes[smaller] > position)
            if not len(pending):
                break
            wanted = bigger[pending] * columns + rows.indices[rows.indptr[smaller[pending]] + position]
            at = np.searchsorted(keys, wanted)
            missing = keys[np.minimum(at, len(keys) - 1)] != wanted
            if missing.any():
                stay = np.ones(len(bigger), dtype=bool)
                stay[pending[missing]] = False
                bigger, smaller = bigger[stay], smaller[stay]
            position += 1
        yield bigger, smaller
        start = stop
