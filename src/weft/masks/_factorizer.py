"""What a factorizer is: a structure and widths in, the masks of every layer out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import scipy.sparse as sp

from .._arguments import check_whole
from .._errors import FactorizationError
from ..graph import Structure, read_binary_matrix
from ..graph._matrix import freeze

__all__ = ["Factorizer", "Solution", "least_width"]


@dataclass(frozen=True, eq=False)
class Solution:
    """The masks a factorizer found, and what it can prove of them.

    Args:
        masks: 0/1 matrices, inputs first: (h1, inputs), (h2, h1), …, (outputs, hL); kept as boolean CSR arrays,
            read-only.
        objective: What each hidden layer reached; empty for a factorizer that has no objective of its own.
        bound: What no choice of this layer can exceed, given the layers before it.
        optimal: Whether the objective was proven to reach the bound.
    """

    masks: tuple[sp.csr_array, ...]
    objective: tuple[float, ...] = ()
    bound: tuple[float, ...] = ()
    optimal: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        read = [read_binary_matrix(mask, f"mask {number}") for number, mask in enumerate(self.masks, start=1)]
        object.__setattr__(self, "masks", tuple(map(freeze, read)))

    def __reduce__(self) -> tuple[Any, ...]:  # copies are as read-only as the original
        return Solution, (self.masks, self.objective, self.bound, self.optimal)


class Factorizer(ABC):
    """A way to turn a structure into binary masks whose product has exactly its support.

    Subclass it, give it a ``name``, and register it in ``weft.masks.FACTORIZERS``; `weft.factorize` then checks every
    edge end to end, so a factorizer need not.
    """

    name: ClassVar[str]
    may_lose: ClassVar[bool] = False
    """Whether losing edges is in the nature of the method; `weft.factorize` refuses a loss from any other."""

    @abstractmethod
    def solve(self, structure: Structure, widths: Sequence[int]) -> Solution:
        """Return the masks for hidden layers of these widths."""

    @abstractmethod
    def least_width(self, structure: Structure) -> int:
        """Return the least width at which layers, all of this width, carry every edge."""


def least_width(factorizer: Factorizer, structure: Structure) -> int:
    """Return the least width that a factorizer names, checked to be one."""
    named = factorizer.least_width(structure)
    return check_whole(f"the least width that method {factorizer.name!r} names", named, 1, error=FactorizationError)
