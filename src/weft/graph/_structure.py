"""Any statement of who may depend on whom, read once at the door into a sparse 0/1 matrix with names."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp

from .._arguments import check_whole
from .._errors import GraphError, shorten, show
from ._edges import read_names
from ._graph import Graph
from ._matrix import freeze, is_frame, is_matrix, read_binary_matrix, warn_if_upper
from ._networkx import from_digraph

__all__ = ["Structure", "StructureLike"]

StructureLike = Any
"""A `Graph`, a `networkx.DiGraph`, a `Structure`, or a 0/1 matrix whose row i marks what output i may depend on."""


@dataclass(frozen=True, eq=False, repr=False)
class Structure:
    """What each output may depend on: a 0/1 matrix with a name for every row (output) and column (input).

    Unlike a `Graph` it may be rectangular or cyclic, and its rows and columns may name different things.

    Args:
        matrix: Boolean CSR array; entry (i, j) is set where output i may depend on input j. It is kept as a read-only
            copy with sorted indices.
        outputs: One name per row.
        inputs: One name per column.
        graph: The graph it came from, where it came from one: with the same nodes and edges.

    Examples:
        >>> from weft.graph import Structure
        >>> s = Structure.of([[0, 0, 0], [1, 0, 0]])
        >>> s.shape, s.edges_count, s.edge(1, 0)
        ((2, 3), 1, 'x0 -> y1')
    """

    matrix: sp.csr_array
    outputs: tuple[Hashable, ...]
    inputs: tuple[Hashable, ...]
    graph: Graph | None = None

    def __post_init__(self) -> None:
        for what in ("outputs", "inputs"):
            names = getattr(self, what)
            if not (isinstance(self.graph, Graph) and names is self.graph.nodes):
                object.__setattr__(self, what, read_names(names, what))
        matrix, shape = self.matrix, (len(self.outputs), len(self.inputs))
        if not (isinstance(matrix, sp.csr_array) and matrix.dtype == bool and matrix.shape == shape):
            raise GraphError(
                f"matrix is {show(matrix)}, expected a boolean csr_array with a row for each of {shape[0]} outputs and "
                f"a column for each of {shape[1]} inputs; to read any other matrix call Structure.of(matrix)."
            )
        object.__setattr__(self, "matrix", freeze(read_binary_matrix(matrix, "matrix")))
        if self.graph is not None and not self._is_of(self.graph):
            raise GraphError(
                f"graph is {show(self.graph)}, which has not these nodes and edges; call Structure.of(graph), or leave "
                f"graph out."
            )

    @classmethod
    def of(cls, structure: StructureLike) -> Structure:
        """Read a graph, a `networkx.DiGraph`, a matrix (dense, sparse or pandas) or a structure."""
        if isinstance(structure, Structure):
            return structure
        if isinstance(structure, Graph):
            return cls(structure.adjacency(sparse=True), structure.nodes, structure.nodes, structure)
        if isinstance(structure, nx.Graph):
            nodes, matrix = from_digraph(structure)
            return cls(matrix, nodes, nodes)
        if not is_matrix(structure):
            raise GraphError(
                f"structure is a {type(structure).__name__}, expected a weft.Graph, a networkx.DiGraph or a 0/1 matrix."
            )
        matrix = read_binary_matrix(structure)
        warn_if_upper(matrix)
        rows, columns = matrix.shape
        if is_frame(structure):
            return cls(matrix, structure.index, structure.columns)
        letter = "x" if rows == columns else "y"
        return cls(matrix, tuple(f"{letter}{i}" for i in range(rows)), tuple(f"x{j}" for j in range(columns)))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of outputs and of inputs."""
        rows, columns = self.matrix.shape
        return int(rows), int(columns)

    @property
    def edges_count(self) -> int:
        """Number of dependences."""
        return int(self.matrix.nnz)

    def edge(self, output: int, input: int) -> str:  # noqa: A002
        """Name the dependence of an output on an input as ``input -> output``."""
        rows, columns = self.shape
        check_whole("output", output, most=rows - 1)
        check_whole("input", input, most=columns - 1)
        return f"{self.inputs[input]} -> {self.outputs[output]}"

    def dag(self) -> Graph:
        """Return the same as a graph, if rows and columns have the same names and there is no cycle.

        Examples:
            >>> from weft.graph import Structure
            >>> Structure.of([[0, 0], [1, 0]]).dag().edges
            (('x0', 'x1'),)
        """
        if self.graph is not None:
            return self.graph
        if self.outputs != self.inputs:
            rows, columns = (shorten(names, 5) for names in (self.outputs, self.inputs))
            raise GraphError(
                f"the structure of shape {self.shape} has the rows {rows} and the columns {columns}, expected the same "
                f"names for both, in the same order: a graph has one row and one column for every node."
            )
        return Graph.from_adjacency(self.matrix, names=self.inputs, orientation="row_is_child")

    def with_context(self) -> Structure:
        """Append one input, named ``context``, on which every output may depend."""
        name = "context"
        while name in self.inputs:
            name = f"_{name}"
        column = sp.csr_array(np.ones((self.shape[0], 1), dtype=bool))
        matrix = sp.csr_array(sp.hstack([self.matrix, column], format="csr", dtype=bool))
        return Structure(matrix, self.outputs, (*self.inputs, name))

    def same_as(self, other: Structure) -> bool:
        """Tell whether the two 0/1 matrices are equal, whatever the names."""
        if not isinstance(other, Structure):
            raise GraphError(f"other is {show(other)}, expected a Structure: Structure.of(other).")
        return self.shape == other.shape and (self.matrix != other.matrix).nnz == 0

    def _is_of(self, graph: object) -> bool:
        if not isinstance(graph, Graph) or not self.outputs == self.inputs == graph.nodes:
            return False
        return bool((self.matrix != graph.adjacency(sparse=True)).nnz == 0)

    def __repr__(self) -> str:
        rows, columns = self.shape
        of = f", of {self.graph!r}" if self.graph is not None else ""
        return f"Structure({rows} x {columns}, {self.edges_count} edge{'s' * (self.edges_count != 1)}{of})"

    def __reduce__(self) -> tuple[Any, ...]:  # copies are checked, and as read-only as the original
        return Structure, (self.matrix, self.outputs, self.inputs, self.graph)
