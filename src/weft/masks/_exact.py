"""Provably optimal masks: each hidden unit is a biclique, so a layer is a small integer programme."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .._errors import FactorizationError, shorten, show, suggest
from ..graph import Structure
from ._bicliques import MOST_CELLS, Bicliques
from ._factorizer import Factorizer, Solution
from ._objectives import OBJECTIVES
from ._programme import Programme

__all__ = ["Exact"]


@dataclass(frozen=True)
class Exact(Factorizer):
    """Masks that no others beat in the objective, layer by layer, with the bound that proves it.

    A hidden unit is a block of ones T x S of the structure, a biclique: the inputs S that it reads and the outputs T
    that may read it. For an objective that never falls when a path is added only maximal bicliques can be needed, and
    a sparse structure has few of those. So a layer is an integer programme in the number of units that each biclique
    gets. Each layer is optimal given the one before, as in the paper.

    A dense structure may have more than 50,000 maximal bicliques, or some that cover more than a million ones together.
    Then only the largest are used and those of single rows and columns, or these alone and without the solver; the
    masks still keep every edge, ``optimal`` is False, and the bound is a coarser one that holds all the same.

    Numbers of paths are proven exactly. The curves of the other objectives are proven to a relative 1e-6, of 1e5 at
    most: what is called optimal may be exceeded by so much.

    Args:
        objective: ``"paths"`` (most paths), ``"paths-variance"`` (less their variance over the matrix), or
            ``"balanced"`` (the sum of the logarithms of the path counts, so that no edge starves).
        time_limit: Seconds for all layers together. When they are over, the best masks found are returned with their
            bound and ``optimal=False``.

    Examples:
        >>> import weft
        >>> structure = [[1, 0], [1, 0], [1, 1]]
        >>> weft.factorize(structure, widths=(8,), method="exact").paths.tolist()
        [[7, 0], [7, 0], [8, 1]]
        >>> weft.factorize(structure, widths=(8,), method="exact", objective="balanced").paths.tolist()
        [[5, 0], [5, 0], [8, 3]]

    References:
        Structured Neural Networks for Density Estimation and Causal Inference (Chen et al., 2023), appendix A.
        Formal Concept Analysis (Ganter and Wille, 1999): the maximal bicliques.
    """

    objective: str = "paths"
    time_limit: float = 60.0
    name = "exact"

    def __post_init__(self) -> None:
        objective: object = self.objective
        if not isinstance(objective, str) or objective not in OBJECTIVES:
            raise FactorizationError(
                f"unknown objective {show(objective)}{suggest(objective, OBJECTIVES)}. "
                f"Valid objectives: {shorten(OBJECTIVES)}."
            )
        limit: object = self.time_limit
        if isinstance(limit, bool) or not isinstance(limit, (int, float, np.integer, np.floating)) or not limit > 0:
            raise FactorizationError(f"time_limit is {show(limit)}, expected a number of seconds above 0.")

    def solve(self, structure: Structure, widths: Sequence[int]) -> Solution:
        """Return the best masks found, with their bounds."""
        deadline = time.monotonic() + self.time_limit
        readers, masks = structure.matrix, []
        outcomes = []
        for number, width in enumerate(widths):
            left = (deadline - time.monotonic()) / (len(widths) - number)
            programme = self._programme(readers, width, time.monotonic() + left)
            # A later, narrower layer can carry this one if it has a unit for each of its bicliques.
            outcome = programme.solve(most_distinct=min(widths[number:]))
            readers, mask = programme.bicliques.masks(outcome.counts, width)
            masks.append(mask)
            outcomes.append(outcome)
        return Solution(
            (*masks, readers),
            tuple(outcome.value for outcome in outcomes),
            tuple(outcome.bound for outcome in outcomes),
            tuple(outcome.optimal for outcome in outcomes),
        )

    def least_width(self, structure: Structure) -> int:
        """Return the fewest bicliques that cover every one of the structure (the fewest found, in the time limit)."""
        deadline = time.monotonic() + self.time_limit
        width = max(1, min(structure.shape))
        return max(1, self._programme(structure.matrix, width, deadline).fewest_units())

    def _programme(self, matrix: sp.csr_array, width: int, deadline: float) -> Programme:
        objective = OBJECTIVES[self.objective]
        size = matrix.shape[0] * matrix.shape[1]
        every = None if objective.is_monotone(width, size) else Bicliques.every(matrix)
        if every is not None and every.cells <= MOST_CELLS:
            return Programme(objective, every, width, size, deadline, complete=True)
        found = Bicliques.maximal(matrix, seconds=max(0.1, (deadline - time.monotonic()) / 3))
        complete = found.complete and objective.is_monotone(width, size)
        return Programme(objective, found, width, size, deadline, complete)
