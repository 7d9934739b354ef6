"""Who depends on whom: names, order, generations, closure, coloring, readers and writers."""

from __future__ import annotations

from .._errors import GraphError, GraphWarning
from ._builders import chain, every_other, full, neighbourhood, previous, random_dag, random_sparse, star
from ._graph import Graph
from ._matrix import read_binary_matrix
from ._structure import Structure, StructureLike

__all__ = [
    "Graph",
    "GraphError",
    "GraphWarning",
    "Structure",
    "StructureLike",
    "chain",
    "every_other",
    "full",
    "neighbourhood",
    "previous",
    "random_dag",
    "random_sparse",
    "read_binary_matrix",
    "star",
]
