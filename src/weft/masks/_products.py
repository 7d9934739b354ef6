"""Products of 0/1 masks: who is reached, and by how many paths."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._errors import FactorizationError
from ..graph import read_binary_matrix

__all__ = ["LARGEST_DENSE", "LARGEST_MASK", "multiply", "reach", "refuse_dense", "refuse_large", "select", "support"]

DENSE_ENTRIES = 2**27
"""Largest dense operand or result, in entries, that a product may build for speed (512 MB in float32)."""

LARGEST_DENSE = 2**28
"""Entries above which a dense matrix is refused."""

LARGEST_MASK = 2**28
"""Weights above which a mask is refused rather than built (about 1.3 GB as CSR)."""

SPARSE_PENALTY = 30
"""How many dense multiply-adds cost as much as one sparse one (measured 20 to 60 on two cores)."""


def refuse_large(weights: int, what: str, advice: str = "Use smaller widths.") -> None:
    """Refuse a mask that would keep more weights than can be held."""
    if weights > LARGEST_MASK:
        raise FactorizationError(f"{what} would keep {weights:,} weights (limit {LARGEST_MASK:,}). {advice}")


def refuse_dense(shape: tuple[int, int], what: str, instead: str) -> None:
    """Refuse a dense matrix that has more entries than can be held; ``instead`` is what to read."""
    rows, columns = shape
    if rows * columns > LARGEST_DENSE:
        raise FactorizationError(
            f"{what} has {rows:,} x {columns:,} entries, too many to hold densely (limit {LARGEST_DENSE:,}); "
            f"read {instead} instead."
        )


def multiply(left: sp.csr_array, right: sp.csr_array, dtype: type = np.float32) -> sp.csr_array:
    """Multiply two sparse matrices in floating point, through dense BLAS where they are dense enough for it to win."""
    (rows, inner), columns = left.shape, right.shape[1]
    sparse_work = _work(left, right)
    fits = max(rows * inner, inner * columns, rows * columns) <= DENSE_ENTRIES
    if fits and rows * inner * columns < SPARSE_PENALTY * sparse_work:
        return sp.csr_array(left.toarray().astype(dtype) @ right.toarray().astype(dtype))
    return sp.csr_array(left.astype(dtype) @ right.astype(dtype))


def _work(left: sp.csr_array, right: sp.csr_array) -> int:
    """Count the multiply-adds of a sparse product."""
    return int(np.bincount(left.indices, minlength=left.shape[1]) @ np.diff(right.indptr).astype(np.int64))


def support(matrix: sp.csr_array) -> sp.csr_array:
    """Return the boolean matrix of the non-zero entries, its indices sorted."""
    out = sp.csr_array((matrix.data != 0, matrix.indices, matrix.indptr), shape=matrix.shape, copy=True)
    out.eliminate_zeros()
    out.sort_indices()
    return out


def reach(masks: Iterable[Any]) -> sp.csr_array:
    """Tell which input reaches which output through 0/1 masks, dense or sparse, given inputs first.

    Each product is reduced to its support before the next, so no count can overflow. The chain is worked off from
    whichever end is cheaper: an input that all units read is best met last, and so is an output that reads them all.

    Examples:
        >>> reach([[[1, 0], [0, 0]], [[1, 1], [0, 1], [1, 0]]]).toarray().astype(int).tolist()
        [[1, 0], [0, 0], [1, 0]]
    """
    left = [read_binary_matrix(mask, f"mask {number}") for number, mask in enumerate(masks, start=1)]
    if not left:
        raise FactorizationError("got no masks, expected at least one: [inputs to outputs].")
    for number, (below, above) in enumerate(pairwise(left), start=2):
        if above.shape[1] != below.shape[0]:
            raise FactorizationError(
                f"mask {number} reads {above.shape[1]} units, but mask {number - 1} gives {below.shape[0]}; give the "
                f"masks inputs first, each as (units above, units below)."
            )
    while len(left) > 1:
        at = 0 if _work(left[1], left[0]) <= _work(left[-1], left[-2]) else len(left) - 2
        left[at : at + 2] = [support(multiply(left[at + 1], left[at]))]
    return left[0]


def select(matrix: sp.csr_array, rows: np.ndarray, columns: np.ndarray) -> sp.csr_array:
    """Take rows and columns, both with repetitions, of a sparse matrix."""
    out = sp.csr_array(matrix[rows][:, columns])
    out.sort_indices()
    return out
