"""Densities that follow a graph: heads that say how a variable is distributed, and the models made of them."""

from __future__ import annotations

from ._counts import NegativeBinomial, Poisson
from ._density import StrNNDensity
from ._discrete import Binary, Categorical, Ordinal
from ._gaussian import Gaussian
from ._head import Head
from ._heads import KINDS, Heads, read_kinds
from ._model import DensityModel

__all__ = [
    "KINDS",
    "Binary",
    "Categorical",
    "DensityModel",
    "Gaussian",
    "Head",
    "Heads",
    "NegativeBinomial",
    "Ordinal",
    "Poisson",
    "StrNNDensity",
    "read_kinds",
]
