"""What an exact factorization maximises: concave functions of the path counts of a layer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from ._bicliques import FloatArray

__all__ = ["OBJECTIVES", "Objective"]


class Objective(ABC):
    """A reward for every path plus a concave curve of each entry's path count, seen through straight lines.

    The entries of one layer are given by ``paths``, how many units each reads through, and ``weights``, how many equal
    entries of the matrix each stands for; ``size`` counts all entries of the matrix, its zeros included.
    """

    name: ClassVar[str]
    per_path: ClassVar[float]
    """Reward of a single path, apart from the curve."""
    curved: ClassVar[bool] = True
    centred: ClassVar[bool] = False
    """Whether the curve is of the count's deviation from the mean over the matrix, zeros included."""

    def is_monotone(self, width: int, size: int) -> bool:
        """Tell whether one more path never lowers the value, so that maximal bicliques are all that is needed."""
        return True

    @abstractmethod
    def value(self, paths: FloatArray, weights: FloatArray, size: int) -> float:
        """Return the objective."""

    @abstractmethod
    def gains(self, paths: FloatArray, weights: FloatArray, size: int) -> FloatArray:
        """Return, for each entry, about what one more path would add."""

    def lines(self, argument: FloatArray, size: int) -> list[tuple[FloatArray, FloatArray]]:
        """Return slopes and intercepts of lines that nowhere lie below the curve and touch it at the argument."""
        return []

    @abstractmethod
    def ceiling(self, most: float, ones: float, size: int) -> float:
        """Return what cannot be exceeded where the ``ones`` of the matrix have at most ``most`` paths on average."""


class Paths(Objective):
    """The number of paths: the paper's first objective."""

    name = "paths"
    per_path = 1.0
    curved = False

    def value(self, paths: FloatArray, weights: FloatArray, size: int) -> float:
        return float(weights @ paths)

    def gains(self, paths: FloatArray, weights: FloatArray, size: int) -> FloatArray:
        return weights

    def ceiling(self, most: float, ones: float, size: int) -> float:
        return most * ones


class PathsVariance(Objective):
    """The number of paths less the variance of the path counts over the matrix: the paper's second objective."""

    name = "paths-variance"
    per_path = 1.0
    centred = True

    def is_monotone(self, width: int, size: int) -> bool:
        return 2 * width <= size + 1

    def value(self, paths: FloatArray, weights: FloatArray, size: int) -> float:
        total = float(weights @ paths)
        return total - float(weights @ paths**2) / size + (total / size) ** 2

    def gains(self, paths: FloatArray, weights: FloatArray, size: int) -> FloatArray:
        mean = weights @ paths / size
        return np.asarray(weights * (1 - (2 * (paths - mean) + 1) / size))

    def lines(self, argument: FloatArray, size: int) -> list[tuple[FloatArray, FloatArray]]:
        return [(-2 * argument / size, argument**2 / size)]

    def ceiling(self, most: float, ones: float, size: int) -> float:
        # By concavity and symmetry nothing beats equal counts t, with t - (share of zeros) t^2 / size for every one.
        curvature = (1 - ones / size) / size
        best = most if curvature * most * 2 <= 1 else 0.5 / curvature
        return ones * (best - curvature * best**2)


class Balanced(Objective):
    """The sum of the logarithms of the path counts, so that no edge starves for the sake of another."""

    name = "balanced"
    per_path = 0.0

    def value(self, paths: FloatArray, weights: FloatArray, size: int) -> float:
        return float(weights @ np.log(paths)) if paths.all() else -np.inf

    def gains(self, paths: FloatArray, weights: FloatArray, size: int) -> FloatArray:
        return np.asarray(weights * np.log1p(1 / np.maximum(paths, 1)))

    def lines(self, argument: FloatArray, size: int) -> list[tuple[FloatArray, FloatArray]]:
        # Counts are integers: the chords between neighbouring integers are as valid as tangents, and tighter.
        lines = []
        for start in (np.maximum(np.ceil(argument) - 1, 1), np.maximum(np.floor(argument), 1)):
            slope = np.log1p(1 / start)
            lines.append((slope, np.log(start) - slope * start))
        return lines

    def ceiling(self, most: float, ones: float, size: int) -> float:
        return ones * float(np.log(max(most, 1.0)))


OBJECTIVES: dict[str, Objective] = {kind.name: kind() for kind in (Paths, PathsVariance, Balanced)}
"""The objectives by name."""
