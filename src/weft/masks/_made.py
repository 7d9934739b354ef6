"""The masks of MADE, for the full autoregressive structure only."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from .._arguments import check_whole
from .._errors import FactorizationError
from ..graph import Structure
from ._explain import plural
from ._factorizer import Factorizer, Solution
from ._products import LARGEST_MASK

__all__ = ["Made", "MadeRandom"]


class _Degrees(Factorizer):
    """Each unit has a degree; it reads the units of no larger degree, and an output reads the strictly smaller."""

    @abstractmethod
    def _degrees(self, variables: int, widths: Sequence[int]) -> list[np.ndarray]:
        """Return the degrees, from 0 to variables - 2, of the units of each hidden layer."""

    def solve(self, structure: Structure, widths: Sequence[int]) -> Solution:
        """Return the masks from comparisons of degrees."""
        ranks = self._ranks(structure)
        sizes = (len(ranks), *widths, len(ranks))
        for number, (below, above) in enumerate(pairwise(sizes), start=1):
            if below * above > LARGEST_MASK:
                raise FactorizationError(
                    f"mask {number} of method {self.name!r} would have {above:,} x {below:,} entries (limit "
                    f"{LARGEST_MASK:,}), most of them weights. Use smaller widths."
                )
        degrees = [ranks, *self._degrees(len(ranks), widths)]
        masks = [above[:, None] >= below for below, above in pairwise(degrees)]
        masks.append(ranks[:, None] > degrees[-1])
        return Solution(tuple(sp.csr_array(mask) for mask in masks))

    def least_width(self, structure: Structure) -> int:
        """Return one unit per degree: only then is a variable sure to reach its immediate successor."""
        return max(1, len(self._ranks(structure)) - 1)

    def _ranks(self, structure: Structure) -> np.ndarray:
        """Return the place of each variable in the order, refusing any structure but the full one."""
        ranks: np.ndarray = np.diff(structure.matrix.indptr)
        rows, columns = structure.shape
        # The count comes first: the comparison is dense, and ties between ranks pass it.
        counted = rows == columns and 2 * structure.edges_count == rows * (rows - 1)
        if not counted or not np.array_equal(structure.matrix.toarray(), ranks[:, None] > ranks):
            raise FactorizationError(
                f"method {self.name!r} masks only the full autoregressive structure (every variable depends on all "
                f"earlier ones, in some order); got {plural(structure.edges_count, 'edge')} on shape "
                f"{structure.shape}. Use the method 'greedy', or weft.graph.full({rows})."
            )
        return ranks


@dataclass(frozen=True)
class Made(_Degrees):
    """The deterministic masks of MADE: degrees from the largest down, again and again.

    Examples:
        >>> import weft
        >>> weft.factorize(weft.graph.full(4), widths=(3, 3), method="made").lost
        ()

    References:
        MADE: Masked Autoencoder for Distribution Estimation (Germain et al., 2015). https://arxiv.org/abs/1502.03509
    """

    name = "made"

    def _degrees(self, variables: int, widths: Sequence[int]) -> list[np.ndarray]:
        top = max(1, variables - 1)
        return [top - 1 - np.arange(width) % top for width in widths]


@dataclass(frozen=True)
class MadeRandom(_Degrees):
    """The random masks of MADE, which may lose edges: `Factorization.lost` tells which.

    Args:
        seed: Seed of the degrees.

    Examples:
        >>> import weft
        >>> f = weft.factorize(weft.graph.full(6), widths=(4,), method=weft.masks.MadeRandom(seed=1))
        >>> len(f.lost) > 0
        True

    References:
        MADE: Masked Autoencoder for Distribution Estimation (Germain et al., 2015). https://arxiv.org/abs/1502.03509
    """

    seed: int = 0
    name = "made-random"
    may_lose = True

    def __post_init__(self) -> None:
        check_whole("seed", self.seed, error=FactorizationError)

    def _degrees(self, variables: int, widths: Sequence[int]) -> list[np.ndarray]:
        generator = np.random.default_rng(self.seed)
        low, degrees = 0, []
        for width in widths:
            drawn = generator.integers(low, max(variables - 1, low + 1), size=width)
            degrees.append(drawn)
            low = int(drawn.min())
        return degrees
