"""Methods whose hidden units each copy one row of the structure: the paper's Algorithm 1, and zuko's."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from ..graph import Structure
from ._containment import containment, distinct_rows
from ._factorizer import Factorizer, Solution
from ._products import multiply, refuse_large, select

__all__ = ["Greedy", "Zuko"]


class _Copying(Factorizer):
    """Each hidden unit copies a row; a unit may feed another exactly when its row is contained in the other's.

    The published algorithms fill one layer after another and scan columns. But what they build depends on the rows
    copied alone: a unit that copies row b of layer l's structure reads exactly the units whose rows are contained in
    row b of the original structure, as long as nothing has been lost. So one containment relation between distinct
    rows gives the masks of all layers.
    """

    @abstractmethod
    def _copies(self, matrix: sp.csr_array, first: np.ndarray, like: np.ndarray) -> np.ndarray:
        """Return which distinct row each hidden unit copies, before the cycle repeats."""

    def solve(self, structure: Structure, widths: Sequence[int]) -> Solution:
        """Return the masks in closed form."""
        matrix = structure.matrix
        if not widths:
            return Solution((matrix,))
        first, like = distinct_rows(matrix)
        rows = sp.csr_array(matrix[first])
        inside = containment(rows)
        copies = self._copies(matrix, first, like)
        if not len(copies):  # no output depends on anything: every unit is idle
            shapes = zip((*widths, matrix.shape[0]), (matrix.shape[1], *widths), strict=True)
            return Solution(tuple(sp.csr_array(shape, dtype=bool) for shape in shapes))
        units = [copies[np.arange(width) % len(copies)] for width in widths]
        self._refuse_large(1, np.diff(rows.indptr)[units[0]])
        masks = [sp.csr_array(rows[units[0]])]
        for below, above in pairwise(units):
            masks.append(self._between(inside, above, below, len(masks) + 1))
        # An output without parents copies an empty row, which contains nothing.
        inside = sp.csr_array(sp.vstack([inside, sp.csr_array((1, len(first)), dtype=bool)], format="csr"))
        masks.append(self._between(inside, like % (len(first) + 1), units[-1], len(masks) + 1))
        return Solution(tuple(masks))

    def _between(self, inside: sp.csr_array, above: np.ndarray, below: np.ndarray, number: int) -> sp.csr_array:
        """Build the mask from units that copy rows ``below`` to units that copy rows ``above``."""
        per_row = inside.astype(np.int64) @ np.bincount(below, minlength=inside.shape[1])
        self._refuse_large(number, per_row[above])
        return select(inside, above, below)

    def _refuse_large(self, number: int, entries: np.ndarray) -> None:
        refuse_large(
            int(entries.sum(dtype=np.int64)),
            f"mask {number} of method {self.name!r}",
            "Hubs and dense structures make it quadratic: use smaller widths, or the method 'grouped', whose weights "
            "are linear in the edges.",
        )

    def least_width(self, structure: Structure) -> int:
        """Return the shortest run of copied rows from which every row can be put together."""
        first, like = distinct_rows(structure.matrix)
        rows = sp.csr_array(structure.matrix[first])
        inside = containment(rows)
        copies = self._copies(structure.matrix, first, like)

        def carries(width: int) -> bool:
            copied = np.unique(copies[:width])
            return bool(multiply(inside[:, copied].tocsr(), sp.csr_array(rows[copied])).nnz == rows.nnz)

        low, high = 1, max(1, len(copies))
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if carries(middle) else (middle + 1, high)
        return low


@dataclass(frozen=True)
class Greedy(_Copying):
    """The paper's Algorithm 1: copy the non-zero rows in order, repeat until the layer is full, keep every connection.

    It gives the masks of the literal algorithm wherever that loses nothing, for any number of layers.

    Examples:
        >>> import weft
        >>> f = weft.factorize([[0, 0, 0], [1, 0, 0], [1, 1, 0]], widths=(4,), method="greedy")
        >>> f.masks[0].astype(int).tolist()
        [[1, 0, 0], [1, 1, 0], [1, 0, 0], [1, 1, 0]]

    References:
        Structured Neural Networks for Density Estimation and Causal Inference (Chen et al., 2023), Algorithm 1.
    """

    name = "greedy"

    def _copies(self, matrix: sp.csr_array, first: np.ndarray, like: np.ndarray) -> np.ndarray:
        return like[like >= 0]


@dataclass(frozen=True)
class Zuko(_Copying):
    """The masks of ``zuko.nn.MaskedMLP``: copy the distinct non-zero rows in lexicographic order.

    Examples:
        >>> import weft
        >>> f = weft.factorize([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0]], widths=(2,), method="zuko")
        >>> f.masks[0].astype(int).tolist()
        [[0, 1, 0], [1, 0, 0]]

    References:
        Zuko: Normalizing flows in PyTorch (Rozet et al., 2022). https://github.com/probabilists/zuko
    """

    name = "zuko"

    def _copies(self, matrix: sp.csr_array, first: np.ndarray, like: np.ndarray) -> np.ndarray:
        # Of two 0/1 rows the one with a 1 where they first differ is larger: compare the lists of indices, negated.
        indptr, indices = matrix.indptr, matrix.indices
        keys = [tuple(-indices[indptr[row] : indptr[row + 1]]) for row in first]
        return np.asarray(sorted(range(len(first)), key=keys.__getitem__), dtype=np.int64)
