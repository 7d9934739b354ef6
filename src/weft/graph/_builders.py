"""Graphs of a known shape: those of the paper, and test pieces of any size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._arguments import check_number, check_whole
from .._errors import GraphError
from ._graph import Graph

__all__ = [
    "chain",
    "every_other",
    "full",
    "neighbourhood",
    "previous",
    "random_dag",
    "random_sparse",
    "star",
]

_MOST = 2**28


def every_other(d: int) -> Graph:
    """Let node i depend on every second earlier node: all j < i with i - j odd.

    References:
        Structured Neural Networks for Density Estimation and Causal Inference, NeurIPS 2023.

    Examples:
        >>> from weft.graph import every_other
        >>> every_other(15).edges_count, every_other(5).parents("x4")
        (56, ('x1', 'x3'))
    """
    _at_least("every_other", d=d)
    child, parent = _earlier(d, d)
    odd = (child - parent) % 2 == 1
    return _from_places(d, child[odd], parent[odd])


def previous(d: int, k: int) -> Graph:
    """Let node i depend on the ``k`` nodes before it.

    Examples:
        >>> from weft.graph import previous
        >>> previous(5, 2).parents("x4")
        ('x2', 'x3')
    """
    _at_least("previous", d=d, k=k)
    return _from_places(d, *_earlier(d, k))


def random_sparse(d: int, threshold: float, seed: int) -> Graph:
    """Draw each edge from an earlier to a later node with probability 1 - ``threshold``, as the paper's code does.

    References:
        Structured Neural Networks for Density Estimation and Causal Inference, NeurIPS 2023.

    Examples:
        >>> from weft.graph import random_sparse
        >>> random_sparse(15, threshold=0.8, seed=2547)
        Graph(15 nodes, 16 edges, depth 5)
    """
    _at_least("random_sparse", d=d)
    check_number("random_sparse: threshold", threshold, most=1)
    check_whole("random_sparse: seed", seed, most=2**32 - 1)
    _refuse_size(d * d)
    drawn = np.random.RandomState(seed).uniform(size=(d, d)) > threshold
    return _from_places(d, *np.nonzero(np.tril(drawn, -1)))


def neighbourhood(height: int, width: int, radius: int) -> Graph:
    """Let each pixel depend on the pixels before it in raster order that lie at most ``radius`` rows and columns away.

    Examples:
        >>> from weft.graph import neighbourhood
        >>> neighbourhood(3, 3, radius=1).parents("x4")
        ('x0', 'x1', 'x2', 'x3')
    """
    _at_least("neighbourhood", height=height, width=width, radius=radius)
    down, right = min(radius, height - 1), min(radius, width - 1)
    _refuse_size(height * width * (down + 1) * (2 * right + 1))
    rows, columns = np.divmod(np.arange(height * width), max(width, 1))
    children, parents = [], []
    for up in range(down + 1):
        for left in range(-right, right + 1):
            if up == 0 and left <= 0:  # not earlier in raster order
                continue
            inside = np.flatnonzero((rows >= up) & (columns >= left) & (columns - left < width))
            children.append(inside)
            parents.append(inside - up * width - left)
    nothing = np.zeros(0, dtype=np.int64)
    return _from_places(height * width, np.concatenate([nothing, *children]), np.concatenate([nothing, *parents]))


def star(d: int) -> Graph:
    """Make the first node the parent of all others.

    Examples:
        >>> from weft.graph import star
        >>> star(4).children("x0")
        ('x1', 'x2', 'x3')
    """
    _at_least("star", d=d)
    _refuse_size(d)
    leaves = np.arange(1, d)
    return _from_places(d, leaves, np.zeros_like(leaves))


def chain(d: int) -> Graph:
    """Let each node depend on the one before it.

    Examples:
        >>> from weft.graph import chain
        >>> chain(3).edges
        (('x0', 'x1'), ('x1', 'x2'))
    """
    _at_least("chain", d=d)
    return previous(d, 1)


def full(d: int) -> Graph:
    """Let every node depend on all earlier ones.

    Examples:
        >>> from weft.graph import full
        >>> full(784).edges_count
        306936
    """
    _at_least("full", d=d)
    return previous(d, d)


def random_dag(d: int, parents: float = 3.0, hubs: float = 0.0, seed: int = 0) -> Graph:
    """Draw a sparse random DAG, in time proportional to its edges.

    Each node draws a Poisson number of earlier nodes with replacement; repeated draws count once, so that early nodes
    and hubs end with somewhat fewer edges than drawn.

    Args:
        d: Number of nodes.
        parents: Mean number of parents drawn for a node.
        hubs: 0 draws parents uniformly from the earlier nodes; s > 0 draws the node at position r = 1, 2, … with
            probability proportional to r^-s, so that the first nodes become hubs with Zipf-distributed out-degrees.
        seed: Seed of the generator; the same seed gives the same graph.

    Examples:
        >>> from weft.graph import random_dag
        >>> g = random_dag(1000, parents=3.0, seed=1)
        >>> len(g), 2500 < g.edges_count < 3500
        (1000, True)
    """
    _at_least("random_dag", d=d, seed=seed)
    check_number("random_dag: parents", parents, most=_MOST)
    check_number("random_dag: hubs", hubs)
    _refuse_size(d * max(math.ceil(parents), 1))
    generator = np.random.default_rng(seed)
    counts = np.minimum(generator.poisson(parents, size=d), np.arange(d))
    child = np.repeat(np.arange(d), counts)
    share = generator.uniform(size=child.size)
    # Inverse of the cumulative weights, cut off at the nodes before the child.
    weights = np.concatenate([[0.0], np.cumsum(np.arange(1, d + 1, dtype=float) ** -hubs)])
    parent = np.searchsorted(weights, share * weights[child], side="right") - 1
    return _from_places(d, child, np.minimum(parent, child - 1))


def _earlier(d: int, k: int) -> tuple[NDArray[Any], NDArray[Any]]:
    # All pairs (i, j) with i - k <= j < i, without d x d work.
    k = min(k, d)
    _refuse_size(d * max(k, 1))
    counts = np.minimum(np.arange(d), k)
    child = np.repeat(np.arange(d), counts)
    ends = np.cumsum(counts)
    back = np.repeat(ends, counts) - np.arange(child.size)
    return child, child - back


def _from_places(d: int, child: NDArray[Any], parent: NDArray[Any]) -> Graph:
    matrix = sp.coo_array((np.ones(len(child), dtype=bool), (child, parent)), shape=(d, d)).tocsr()
    matrix.sum_duplicates()
    return Graph._of(tuple(f"x{i}" for i in range(d)), matrix)


def _at_least(caller: str, **numbers: object) -> None:
    for name, value in numbers.items():
        check_whole(f"{caller}: {name}", value)


def _refuse_size(entries: int) -> None:
    # A slip of the pen should not end the process for want of memory.
    if entries > _MOST:
        raise GraphError(
            f"the graph may have {entries:,} nodes or edges, more than the {_MOST:,} that a builder makes; build a "
            f"sparse matrix and call Graph.from_adjacency(matrix)."
        )
