"""Topological levels of a sparse directed graph, or the cycle that forbids them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .._errors import GraphError

__all__ = ["levels_of", "reachable"]


def levels_of(nodes: Sequence[Hashable], parents: sp.csr_array, children: sp.csr_array) -> NDArray[np.int64]:
    """Return the generation of every node: the number of edges on the longest path that ends in it.

    Kahn's algorithm, one generation at a time: a node belongs to the generation after that of its last parent.

    Args:
        nodes: Names, for the message when there is a cycle.
        parents: Boolean CSR array, row = child.
        children: Its transpose, also CSR.
    """
    missing = np.diff(parents.indptr).astype(np.int64)
    starts, targets = children.indptr.tolist(), children.indices
    levels = np.zeros(len(nodes), dtype=np.int64)
    generation: list[int] = np.flatnonzero(missing == 0).tolist()
    done, level = 0, 0
    while generation:
        levels[generation] = level
        done += len(generation)
        level += 1
        released: list[int] = []
        for node in generation:
            start, stop = starts[node], starts[node + 1]
            if start < stop:
                row = targets[start:stop]
                left = missing[row] - 1
                missing[row] = left
                if not left.all():
                    released += row[left == 0].tolist()
        generation = released
    if done < len(nodes):
        raise GraphError(_describe_cycle(nodes, _find_cycle(parents, missing)))
    return levels


def reachable(matrix: sp.csr_array, start: int) -> list[int]:
    """List in ascending order the nodes reached from ``start`` along the rows of a CSR array, without ``start``."""
    indptr, indices = matrix.indptr, matrix.indices
    seen: set[int] = set()
    stack = [start]
    while stack:
        node = stack.pop()
        fresh = [other for other in indices[indptr[node] : indptr[node + 1]].tolist() if other not in seen]
        seen.update(fresh)
        stack += fresh
    return sorted(seen)


def _find_cycle(parents: sp.csr_array, missing: NDArray[np.int64]) -> list[int]:
    # Every node that was never released has a parent that was never released, so walking up must come round.
    node = int(np.flatnonzero(missing)[0])
    walk: list[int] = []
    place: dict[int, int] = {}
    while node not in place:
        place[node] = len(walk)
        walk.append(node)
        row = parents.indices[parents.indptr[node] : parents.indptr[node + 1]]
        node = int(row[missing[row] > 0][0])
    cycle = walk[place[node] :][::-1]
    first = cycle.index(min(cycle))
    return cycle[first:] + cycle[:first]


def _describe_cycle(nodes: Sequence[Hashable], cycle: list[int]) -> str:
    names = [str(nodes[node]) for node in cycle]
    if len(names) > 10:
        names = [*names[:4], f"… ({len(names) - 6} more)", *names[-2:]]
    loop = " -> ".join([*names, names[0]])
    mend = "remove this edge" if len(cycle) == 1 else "remove one of these edges"
    return f"cycle: {loop}. A Graph must be acyclic; {mend}."
