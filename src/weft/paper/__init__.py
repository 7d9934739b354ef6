"""The paper's tables and figures, each a small function of the library; ``python -m weft.paper`` runs them."""

from __future__ import annotations

from ._density import Recipe, Trial
from ._density_binarized import BINARIZED_MNIST, learn_binarized_mnist
from ._density_entropy import ENTROPY, approach_entropy
from ._density_masks import MASKS, learn_with_masks
from ._density_mnist import MNIST, learn_mnist
from ._density_published import PUBLISHED, learn_published
from ._density_search import Grid, choose_recipe, search_recipes
from ._density_synthetic import BINARY, GAUSSIAN, learn_binary, learn_gaussian
from ._experiment import Experiment
from ._factorization import FACTORIZATION, compare_factorizations, compare_masks
from ._journal import Journal
from ._record import PACKAGES, show, write

__all__ = [
    "EXPERIMENTS",
    "PACKAGES",
    "Experiment",
    "Grid",
    "Journal",
    "Recipe",
    "Trial",
    "approach_entropy",
    "choose_recipe",
    "compare_factorizations",
    "compare_masks",
    "learn_binarized_mnist",
    "learn_binary",
    "learn_gaussian",
    "learn_mnist",
    "learn_published",
    "learn_with_masks",
    "search_recipes",
    "show",
    "write",
]

EXPERIMENTS: dict[str, Experiment] = {
    "factorization": FACTORIZATION,
    "binary": BINARY,
    "gaussian": GAUSSIAN,
    "mnist": MNIST,
    "masks": MASKS,
    "published": PUBLISHED,
    "binarized-mnist": BINARIZED_MNIST,
    "entropy": ENTROPY,
}
"""The experiments by the name that ``python -m weft.paper`` knows them by."""
