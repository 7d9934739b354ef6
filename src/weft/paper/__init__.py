"""The paper's tables and figures, each a small function of the library; ``python -m weft.paper`` runs them."""

from __future__ import annotations

from ._experiment import Experiment
from ._factorization import FACTORIZATION, compare_factorizations, compare_masks
from ._record import PACKAGES, show, write

__all__ = ["EXPERIMENTS", "PACKAGES", "Experiment", "compare_factorizations", "compare_masks", "show", "write"]

EXPERIMENTS: dict[str, Experiment] = {
    "factorization": FACTORIZATION,
}
"""The experiments by the name that ``python -m weft.paper`` knows them by."""
