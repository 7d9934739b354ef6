"""Weft: neural networks woven to a graph.

State which variable may depend on which; every model obeys it, provably, and pays only for the edges that are there.
"""

from __future__ import annotations

from importlib.metadata import version

from . import baselines, data, graph, masks, models, nn, training
from ._errors import FactorizationError, GraphError, GraphWarning
from .graph import Graph
from .masks import Factorization, factorize
from .models import StrNNDensity
from .nn import StrNN
from .training import FitResult, fit

__version__ = version("weft")

__all__ = [
    "Factorization",
    "FactorizationError",
    "FitResult",
    "Graph",
    "GraphError",
    "GraphWarning",
    "StrNN",
    "StrNNDensity",
    "__version__",
    "baselines",
    "data",
    "factorize",
    "fit",
    "graph",
    "masks",
    "models",
    "nn",
    "training",
]
