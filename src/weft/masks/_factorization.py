"""The proof object: the masks, what they connect, and what is known of how good they are."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .._errors import FactorizationError, shorten
from ..graph import Structure
from ..graph._matrix import freeze
from ._explain import count, explanation, plural
from ._factorizer import Factorizer, Solution, least_width
from ._products import multiply, reach, refuse_dense, support

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Factorization"]

LARGEST_COUNT = 2.0**53
"""Below it a float64 sum of integers is exact."""


@dataclass(frozen=True, eq=False, repr=False)
class Factorization:
    """Masks whose product has exactly the support of a structure, with the proof that it does.

    `weft.factorize` makes it. The masks come inputs first: ``masks[0]`` is (h1, inputs), ``masks[-1]`` is
    (outputs, hL).

    Args:
        structure: What was factorized.
        widths: Units of each hidden layer.
        factorizer: The method, with its options.
        solution: What the method returned.

    Examples:
        >>> import weft
        >>> f = weft.factorize(weft.graph.chain(4), widths=(6, 6))
        >>> f
        Factorization(greedy, 4 inputs -> 6 -> 6 -> 4 outputs, 3 edges, 24 weights, 12 paths, nothing lost)
        >>> f.paths.tolist()
        [[0, 0, 0, 0], [4, 0, 0, 0], [0, 4, 0, 0], [0, 0, 4, 0]]
        >>> f.lost
        ()
    """

    structure: Structure
    widths: tuple[int, ...]
    factorizer: Factorizer
    solution: Solution = field(repr=False)

    @property
    def method(self) -> str:
        """Name of the method that made the masks."""
        return self.factorizer.name

    @property
    def masks_sparse(self) -> tuple[sp.csr_array, ...]:
        """The masks as boolean CSR arrays, inputs first."""
        return self.solution.masks

    @property
    def masks(self) -> tuple[np.ndarray, ...]:
        """The masks as dense boolean arrays, inputs first, built on demand."""
        for number, mask in enumerate(self.masks_sparse, start=1):
            refuse_dense(mask.shape, f"mask {number}", "`masks_sparse`")
        return tuple(mask.toarray() for mask in self.masks_sparse)

    @property
    def weights(self) -> int:
        """Number of weights the masks keep, over all layers."""
        return sum(int(mask.nnz) for mask in self.masks_sparse)

    @cached_property
    def reach(self) -> sp.csr_array:
        """Which output is reached from which input, as a boolean CSR array: the structure, unless edges are lost."""
        return freeze(reach(self.masks_sparse))

    @cached_property
    def lost(self) -> tuple[tuple[Hashable, Hashable], ...]:
        """Edges (input, output) of the structure that no path carries; empty but for ``made-random``."""
        rows, columns = (self.structure.matrix > self.reach).nonzero()
        return tuple((self.structure.inputs[j], self.structure.outputs[i]) for i, j in zip(rows, columns, strict=True))

    @cached_property
    def paths_sparse(self) -> sp.csr_array:
        """Number of paths from each input to each output, as an integer CSR array.

        Raises:
            OverflowError: If a count reaches 2**53, below which it is exact; `log_paths` has no such limit.
        """
        counts = self.masks_sparse[0].astype(np.float64)
        for mask in self.masks_sparse[1:]:
            counts = multiply(mask, counts, np.float64)
            if counts.nnz and counts.data.max() >= LARGEST_COUNT:
                raise OverflowError(
                    "a number of paths reaches 2**53, too large to count exactly; read `log_paths` instead."
                )
        counts = counts.astype(np.int64)
        counts.eliminate_zeros()
        counts.sort_indices()
        return freeze(counts)

    @property
    def paths(self) -> np.ndarray:
        """Number of paths from input j to output i, as a dense integer matrix."""
        refuse_dense(self.structure.shape, "the matrix of path counts", "`paths_sparse`")
        counts: np.ndarray = self.paths_sparse.toarray()
        return counts

    @cached_property
    def log_paths(self) -> np.ndarray:
        """Natural logarithm of the number of paths, −inf where there is none; it cannot overflow."""
        refuse_dense(self.structure.shape, "the matrix of log path counts", "`paths_sparse`")
        counts = self.masks_sparse[0].astype(np.float64)
        log_scale = np.zeros(counts.shape[1])
        for mask in self.masks_sparse[1:]:
            counts = multiply(mask, counts, np.float64).tocsc()
            largest = counts.max(axis=0).toarray().ravel() if counts.shape[0] else np.zeros(counts.shape[1])
            largest[largest == 0] = 1.0
            counts = sp.csr_array(counts @ sp.diags_array(1 / largest))
            log_scale += np.log(largest)
        if (support(counts) != self.reach).nnz:  # counts of one input so far apart that the small ones vanished
            out = _log_counts(self.masks_sparse)
        else:
            out = np.full(counts.shape, -np.inf)
            rows, columns = counts.nonzero()
            out[rows, columns] = np.log(counts.toarray()[rows, columns]) + log_scale[columns]
        out.flags.writeable = False
        return out

    @cached_property
    def total_paths(self) -> int:
        """Number of paths from any input to any output, exact at any size."""
        counts = np.ones(self.structure.shape[1])
        for mask in self.masks_sparse:
            counts = mask @ counts
            if counts.sum() >= LARGEST_COUNT:
                return self._many_paths()
        return int(counts.sum())

    def _many_paths(self) -> int:
        arriving = np.ones(self.structure.shape[1], dtype=object)
        for mask in self.masks_sparse:
            sums = np.concatenate([[0], np.cumsum(arriving[mask.indices])])
            arriving = sums[mask.indptr[1:]] - sums[mask.indptr[:-1]]
        return int(sum(arriving))

    @cached_property
    def objective(self) -> tuple[float, ...]:
        """What each hidden layer reached: the method's own objective, or the paper's sum of A' for that layer.

        The sum counts connections input of the layer → unit → output that the unit can reach.
        """
        if self.solution.objective:
            return self.solution.objective
        below = self.structure.shape[0]
        downstream, totals = sp.csr_array(sp.eye_array(below, dtype=bool)), []
        for mask in self.masks_sparse[:0:-1]:
            downstream = support(multiply(downstream, mask))
            totals.append(downstream)
        return tuple(
            float(np.asarray(readers.sum(axis=0)) @ np.diff(mask.indptr))
            for mask, readers in zip(self.masks_sparse, reversed(totals), strict=False)
        )

    @property
    def bound(self) -> tuple[float, ...]:
        """What no masks of a layer can exceed, given the layers before; infinite where the method proves nothing."""
        return self.solution.bound or (float("inf"),) * len(self.widths)

    @property
    def optimal(self) -> tuple[bool, ...]:
        """Whether each layer was proven optimal."""
        return self.solution.optimal or (False,) * len(self.widths)

    def explain(self) -> None:
        """Print, step by step, how the masks come about and what they guarantee."""
        print(explanation(self))

    def plot(self, output: Hashable | None = None) -> Figure:
        """Draw the structure, every mask and the path counts, following one output as the paper's figure does.

        Args:
            output: The output to follow; by default the last that depends on anything.
        """
        from ._picture import draw

        return draw(self, output)

    def __repr__(self) -> str:
        rows, columns = self.structure.shape
        layers = "".join(f" -> {width}" for width in self.widths)
        lost = f"{plural(len(self.lost), 'edge')} lost" if self.lost else "nothing lost"
        return (
            f"Factorization({self.method}, {plural(columns, 'input')}{layers} -> {plural(rows, 'output')}, "
            f"{plural(self.structure.edges_count, 'edge')}, {plural(self.weights, 'weight')}, "
            f"{count(self.total_paths)} path{'s' * (self.total_paths != 1)}, {lost})"
        )

    def __reduce__(self) -> tuple[Any, ...]:  # what is cached is left out
        return Factorization, (self.structure, self.widths, self.factorizer, self.solution)

    def check(self) -> None:
        """Raise unless the masks fit together, invent no dependence and, unless the method may, lose no edge."""
        sizes = (self.structure.shape[1], *self.widths, self.structure.shape[0])
        if len(self.masks_sparse) != len(sizes) - 1:
            raise FactorizationError(
                f"method {self.method!r} returned {plural(len(self.masks_sparse), 'mask')}, expected {len(sizes) - 1}: "
                f"one for each of {len(self.widths)} hidden layers and one for the outputs."
            )
        for told in ("objective", "bound", "optimal"):
            values = getattr(self.solution, told)
            if values and len(values) != len(self.widths):
                raise FactorizationError(
                    f"method {self.method!r} returned {told} for {plural(len(values), 'layer')}, expected "
                    f"{len(self.widths)}: one entry for each hidden layer, or none at all."
                )
        for number, (mask, below, above) in enumerate(
            zip(self.masks_sparse, sizes[:-1], sizes[1:], strict=True), start=1
        ):
            if mask.shape != (above, below):
                raise FactorizationError(
                    f"mask {number} of method {self.method!r} has shape {mask.shape}, expected {(above, below)}."
                )
        rows, columns = (self.reach > self.structure.matrix).nonzero()
        if len(rows):
            names = [self.structure.edge(i, j) for i, j in zip(rows[:5], columns[:5], strict=True)]
            invented = f"{plural(len(rows), 'dependence')}: {shorten(names, 5)}"
            raise FactorizationError(f"method {self.method!r} invents {invented}.")
        if not self.factorizer.may_lose and self.reach.nnz < self.structure.edges_count:
            raise self._too_narrow()

    def _too_narrow(self) -> FactorizationError:
        least = least_width(self.factorizer, self.structure)
        rows, columns = (self.structure.matrix > self.reach).nonzero()
        others = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        return FactorizationError(
            f"hidden widths {self.widths} cannot carry the edge {self.structure.edge(rows[0], columns[0])}{others}: "
            f"method {self.method!r} needs at least {plural(least, 'unit')} in every layer, such as "
            f'{(least,) * len(self.widths)}, or "auto".'
        )


def _log_counts(masks: Sequence[sp.csr_array]) -> np.ndarray:
    """Return the logarithms of the path counts, whatever their range, a row at a time."""
    with np.errstate(divide="ignore"):
        logs: np.ndarray = np.log(masks[0].toarray().astype(np.float64))
    for mask in masks[1:]:
        read = (logs[mask.indices[start:end]] for start, end in pairwise(mask.indptr))
        logs = np.stack([np.logaddexp.reduce(each, axis=0, initial=-np.inf) for each in read])
    return logs
