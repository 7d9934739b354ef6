"""The graph of who depends on whom: immutable, acyclic, sparse."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NoReturn

import networkx as nx
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._arguments import check_number, check_whole
from .._errors import GraphError, shorten, show, suggest
from ._coloring import color_skeleton
from ._edges import read_edges, read_names, read_parents
from ._files import naming, read_file
from ._matrix import compact, read_adjacency
from ._networkx import from_digraph, to_digraph
from ._plot import draw
from ._reach import ancestors_within
from ._text import read_text
from ._topology import levels_of, reachable
from ._writers import write_dot, write_gml

__all__ = ["Graph"]

_DENSE_LIMIT = 2**28
_MAX_EDGES = 50_000_000


class Graph:
    """A directed acyclic graph over named variables; an edge says that the child may depend on the parent.

    A graph is immutable, hashable and can be pickled. Its nodes keep the order in which they were first named, or the
    order of ``nodes=``; that is the order of the columns of every tensor that follows the graph. Two graphs are equal
    when they have the same nodes in the same order and the same edges.

    Args:
        nodes: One name per variable.
        matrix: Square 0/1 matrix whose row i marks the parents of node i.

    Examples:
        >>> from weft.graph import Graph
        >>> g = Graph.from_edges([("dose", "marker"), ("marker", "recovery"), ("age", "dose"), ("age", "recovery")])
        >>> g
        Graph(4 nodes, 4 edges, depth 3: dose, marker, recovery, age)
        >>> g.parents("recovery"), g.order
        (('marker', 'age'), ('age', 'dose', 'marker', 'recovery'))
    """

    __slots__ = ("__weakref__", "_children", "_hash", "_index", "_levels", "_nodes", "_parents")

    _nodes: tuple[Hashable, ...]
    _index: dict[Hashable, int]
    _parents: sp.csr_array
    _children: sp.csr_array
    _levels: NDArray[np.int64]
    _hash: int | None

    def __init__(self, nodes: Sequence[Hashable], matrix: Any) -> None:
        if hasattr(self, "_nodes"):
            raise AttributeError("a Graph cannot be changed: it is made already; build a new one from its edges.")
        self._fill(*read_adjacency(matrix, read_names(nodes), "row_is_child"))

    def _fill(
        self, nodes: tuple[Hashable, ...], parents: sp.csr_array, levels: NDArray[np.int64] | None = None
    ) -> None:
        parents = compact(parents)
        children = compact(parents.T.tocsr())
        if levels is None:
            levels = levels_of(nodes, parents, children)
            levels.flags.writeable = False
        put = partial(object.__setattr__, self)
        put("_nodes", nodes)
        put("_index", {name: place for place, name in enumerate(nodes)})
        put("_parents", parents)
        put("_children", children)
        put("_levels", levels)
        put("_hash", None)

    @classmethod
    def _of(cls, nodes: tuple[Hashable, ...], parents: sp.csr_array, levels: NDArray[np.int64] | None = None) -> Graph:
        # For callers whose names and matrix are known to be sound.
        graph = object.__new__(cls)
        graph._fill(nodes, parents, levels)
        return graph

    # -- readers ------------------------------------------------------------------------------------------------------

    @classmethod
    def from_edges(cls, edges: Iterable[tuple[Hashable, Hashable]], nodes: Iterable[Hashable] | None = None) -> Graph:
        """Build a graph from (parent, child) pairs.

        Args:
            edges: Pairs; repeated ones count once.
            nodes: All names in the order of the columns; without it nodes come in order of first appearance.

        Examples:
            >>> Graph.from_edges([("a", "b")], nodes=["b", "a", "alone"]).nodes
            ('b', 'a', 'alone')
        """
        return cls._of(*read_edges(edges, nodes))

    @classmethod
    def from_parents(
        cls, parents: Mapping[Hashable, Iterable[Hashable]], nodes: Iterable[Hashable] | None = None
    ) -> Graph:
        """Build a graph from a mapping of each child to the list of its parents.

        Args:
            parents: ``{child: [parents]}``; a child without parents is a root.
            nodes: All names in the order of the columns; without it nodes come in order of first appearance.

        Examples:
            >>> Graph.from_parents({"c": ["a", "b"], "b": []}).edges
            (('a', 'c'), ('b', 'c'))
        """
        return cls._of(*read_parents(parents, nodes))

    @classmethod
    def from_networkx(cls, graph: nx.DiGraph) -> Graph:
        """Build a graph from a `networkx.DiGraph`, its nodes in the same order; parallel edges count once.

        Examples:
            >>> import networkx as nx
            >>> Graph.from_networkx(nx.DiGraph([("a", "b")])).edges
            (('a', 'b'),)
        """
        return cls._of(*from_digraph(graph))

    @classmethod
    def from_adjacency(
        cls, matrix: Any, names: Iterable[Hashable] | None = None, orientation: str | None = None
    ) -> Graph:
        """Build a graph from a square 0/1 matrix.

        Args:
            matrix: NumPy array, nested list, SciPy sparse matrix, torch tensor or pandas DataFrame.
            names: One per row; by default the columns of a DataFrame, else ``x0``, ``x1``, ….
            orientation: ``"row_is_child"`` (row i marks the parents of node i; the default) or ``"row_is_parent"``
                (row i marks the children of node i, as networkx writes it).

        Examples:
            >>> Graph.from_adjacency([[0, 0], [1, 0]]).edges
            (('x0', 'x1'),)
        """
        return cls._of(*read_adjacency(matrix, names, orientation))

    @classmethod
    def from_text(cls, text: str) -> Graph:
        r"""Build a graph from text: DOT, dagitty, GML or a table of edges (CSV), whichever it is.

        A node that dagitty marks as latent is a node like any other, with a warning: no node of a graph is hidden.

        Examples:
            >>> Graph.from_text("dag { age -> dose -> recovery; age -> recovery }").order
            ('age', 'dose', 'recovery')
            >>> Graph.from_text("child,parent\nmarker,dose\n").edges
            (('dose', 'marker'),)
        """
        nodes, edges = read_text(text)
        return cls.from_edges(edges, nodes)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Graph:
        """Read a graph from a file: .dot .gv .gml .csv .tsv .dag .dagitty .txt, or a 0/1 matrix in .npy or .npz.

        Examples:
            >>> import pathlib, tempfile
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     file = pathlib.Path(folder, "small.dot")
            ...     _ = file.write_text("digraph { a -> b }")
            ...     Graph.read(file).edges
            (('a', 'b'),)
        """
        with naming(path):
            found = read_file(path)
            if isinstance(found, tuple):
                nodes, edges = found
                return cls.from_edges(edges, nodes)
            return cls._of(*read_adjacency(found))

    # -- what the graph says ------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> tuple[Hashable, ...]:
        """All names, in the order of the columns."""
        return self._nodes

    @property
    def edges(self) -> tuple[tuple[Hashable, Hashable], ...]:
        """All (parent, child) pairs, in node order of the parent, then of the child."""
        nodes = self._nodes
        return tuple((nodes[i], nodes[j]) for i, j in self._places())

    @property
    def edges_count(self) -> int:
        """Number of edges, without listing them."""
        return int(self._parents.nnz)

    @property
    def levels(self) -> NDArray[np.int64]:
        """Generation of every node, read-only: the number of edges on the longest path that ends in it."""
        return self._levels.view()  # whose flag cannot be turned back

    @property
    def depth(self) -> int:
        """Number of edges on the longest path."""
        return int(self._levels.max(initial=0))

    @property
    def order(self) -> tuple[Hashable, ...]:
        """All names in topological order: by generation, then in node order."""
        return self._names(np.argsort(self._levels, kind="stable").tolist())

    @property
    def generations(self) -> tuple[tuple[Hashable, ...], ...]:
        """Names by generation: first the roots, then those whose last parent is in the generation before."""
        order, bounds = self.order, np.cumsum(np.bincount(self._levels)).tolist()
        return tuple(order[a:b] for a, b in pairwise([0, *bounds]))

    def index(self, name: Hashable) -> int:
        """Return the column of a node.

        Examples:
            >>> Graph.from_edges([("a", "b")]).index("b")
            1
        """
        try:
            return self._index[name]
        except (KeyError, TypeError):
            raise GraphError(
                f"no node is named {show(name)}{suggest(name, self._nodes)}; the nodes are {shorten(self._nodes)}."
            ) from None

    def parents(self, name: Hashable) -> tuple[Hashable, ...]:
        """Return the nodes on which a node directly depends, in node order."""
        return self._names(_row(self._parents, self.index(name)))

    def children(self, name: Hashable) -> tuple[Hashable, ...]:
        """Return the nodes that directly depend on a node, in node order."""
        return self._names(_row(self._children, self.index(name)))

    def ancestors(self, name: Hashable) -> tuple[Hashable, ...]:
        """Return the nodes from which a path leads to a node, in node order."""
        return self._names(reachable(self._parents, self.index(name)))

    def descendants(self, name: Hashable) -> tuple[Hashable, ...]:
        """Return the nodes to which a path leads from a node, in node order."""
        return self._names(reachable(self._children, self.index(name)))

    def coloring(self) -> dict[Hashable, int]:
        """Color the nodes so that no two joined by an edge, in either direction, share a color.

        A connected component that can do with two colors gets two; any other is colored by DSATUR. With such a
        coloring the exact divergence of a flow costs one Jacobian-vector product per color.

        References:
            Brélaz, D. (1979). New methods to color the vertices of a graph. Communications of the ACM 22(4).

        Examples:
            >>> Graph.from_edges([("a", "b"), ("b", "c")]).coloring()
            {'a': 0, 'b': 1, 'c': 0}
        """
        return dict(zip(self._nodes, color_skeleton(self._parents + self._children), strict=True))

    # -- other graphs -------------------------------------------------------------------------------------------------

    def closure(self, max_edges: int = _MAX_EDGES) -> Graph:
        """Return the transitive closure: every ancestor becomes a parent.

        Args:
            max_edges: A closure with more edges is refused, with its exact size.

        Examples:
            >>> Graph.from_edges([("a", "b"), ("b", "c")]).closure().parents("c")
            ('a', 'b')
        """
        return self._reach(None, max_edges, "the closure")

    def power(self, k: int, max_edges: int = _MAX_EDGES) -> Graph:
        """Return the graph in which every ancestor within ``k`` steps is a parent, the support of (I + A)^k less I.

        Args:
            k: Number of steps, at least 1; the work is proportional to it.
            max_edges: A power with more edges is refused, as soon as it is known to have more.

        Examples:
            >>> from weft.graph import chain
            >>> chain(4).power(2).parents("x3")
            ('x1', 'x2')
        """
        check_whole("power: k", k, least=1)
        return self._reach(int(k), max_edges, f"power({k})")

    def _reach(self, steps: int | None, max_edges: int, what: str) -> Graph:
        check_number("max_edges", max_edges)
        if self.depth <= 1 or steps == 1:
            return self
        matrix, count = ancestors_within(self._parents, self._levels, steps, max_edges)
        if matrix is None:
            counted, wanted = ("", f"max_edges={count}") if steps is None else ("at least ", "a larger max_edges")
            raise GraphError(
                f"{what} of {self!r} has {counted}{count:,} edges, more than max_edges={max_edges:,}; if memory allows "
                f"(12 bytes an edge, and more while building), pass {wanted}."
            )
        # A longest path takes no shortcut, so the generations stay what they were.
        return Graph._of(self._nodes, matrix, self._levels)

    # -- writers ------------------------------------------------------------------------------------------------------

    def adjacency(self, *, sparse: bool = False) -> Any:
        """Return a new boolean matrix whose row i marks the parents of node i.

        Args:
            sparse: Return a `scipy.sparse.csr_array` with sorted indices instead of a NumPy array.

        Examples:
            >>> Graph.from_edges([("a", "b")]).adjacency().tolist()
            [[False, False], [True, False]]
        """
        if sparse:
            return self._parents.copy()
        if len(self) ** 2 > _DENSE_LIMIT:
            raise GraphError(
                f"the dense matrix of {len(self):,} nodes has {len(self) ** 2:,} entries; "
                f"call adjacency(sparse=True), which has {self.edges_count:,}."
            )
        return self._parents.toarray()

    def to_networkx(self) -> nx.DiGraph:
        """Return a `networkx.DiGraph` with the same nodes, in the same order, and the same edges."""
        return to_digraph(self._nodes, self.edges)

    def to_dot(self) -> str:
        """Write the graph in the DOT language of Graphviz; `from_text` reads it back, with names as strings.

        Examples:
            >>> print(Graph.from_edges([("a", "b")]).to_dot())
            digraph {
              "a";
              "b";
              "a" -> "b";
            }
        """
        return write_dot(self._nodes, self.edges)

    def to_gml(self) -> str:
        """Write the graph as GML; `from_text` reads it back, with names as strings."""
        return write_gml(self._nodes, self.edges)

    def plot(
        self,
        ax: Any = None,
        *,
        direction: str = "right",
        labels: bool | None = None,
        colors: Mapping[Hashable, Any] | None = None,
    ) -> Any:
        """Draw the graph, one generation after the other, and return the matplotlib axes.

        Args:
            ax: Axes to draw on; without them a new figure of a fitting size.
            direction: Where arrows lead: ``"right"`` or ``"down"``.
            labels: Whether to write the names; by default up to 80 nodes.
            colors: A matplotlib color for each of some nodes.

        Examples:
            >>> import matplotlib
            >>> matplotlib.use("Agg")
            >>> ax = Graph.from_edges([("dose", "marker"), ("age", "marker")]).plot()
            >>> len(ax.patches)
            8
        """
        edges = list(self._places())
        return draw(self._nodes, edges, self._levels, ax=ax, direction=direction, labels=labels, colors=colors)

    # -- Python -------------------------------------------------------------------------------------------------------

    def _places(self) -> Iterator[tuple[int, int]]:
        tails = np.repeat(np.arange(len(self)), np.diff(self._children.indptr)).tolist()
        return zip(tails, self._children.indices.tolist(), strict=True)

    def _names(self, places: Iterable[int]) -> tuple[Hashable, ...]:
        nodes = self._nodes
        return tuple(nodes[place] for place in places)

    def __len__(self) -> int:
        return len(self._nodes)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._nodes)

    def __contains__(self, name: object) -> bool:
        try:
            return name in self._index
        except TypeError:
            return False

    def __repr__(self) -> str:
        nodes, edges = len(self), self.edges_count
        listed = ": " + ", ".join(map(str, self._nodes)) if 0 < nodes <= 6 else ""
        size = f"{nodes} node{'s' * (nodes != 1)}, {edges} edge{'s' * (edges != 1)}"
        return f"Graph({size}, depth {self.depth}{listed})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        mine, theirs = self._parents, other._parents
        return self is other or (
            self._nodes == other._nodes
            and np.array_equal(mine.indptr, theirs.indptr)
            and np.array_equal(mine.indices, theirs.indices)
        )

    def __hash__(self) -> int:
        if self._hash is None:
            key = (self._nodes, self._parents.indptr.tobytes(), self._parents.indices.tobytes())
            object.__setattr__(self, "_hash", hash(key))
        return self._hash  # type: ignore[return-value]

    def __reduce__(self) -> tuple[Any, ...]:
        return Graph, (self._nodes, self._parents)

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        return self

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a Graph cannot be changed: cannot set {name!r}; build a new one from its edges.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Graph cannot be changed: cannot delete {name!r}; build a new one from its edges.")


def _row(matrix: sp.csr_array, row: int) -> list[int]:
    found: list[int] = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]].tolist()
    return found
