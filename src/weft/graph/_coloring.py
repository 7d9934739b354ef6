"""Proper colorings of the undirected skeleton: two colors where they suffice, DSATUR elsewhere."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import pairwise

import scipy.sparse as sp

__all__ = ["color_skeleton"]


def color_skeleton(neighbours: sp.csr_array) -> list[int]:
    """Give every node a color that none of its neighbours has, component by component.

    Args:
        neighbours: Symmetric CSR array with an empty diagonal.

    References:
        Brélaz, D. (1979). New methods to color the vertices of a graph. Communications of the ACM 22(4).

    Examples:
        >>> import numpy as np, scipy.sparse as sp
        >>> from weft.graph._coloring import color_skeleton
        >>> color_skeleton(sp.csr_array(~np.eye(3, dtype=bool)))
        [0, 1, 2]
    """
    bounds, indices = neighbours.indptr.tolist(), neighbours.indices.tolist()
    rows = [indices[a:b] for a, b in pairwise(bounds)]
    colors = [-1] * len(rows)
    for start in range(len(rows)):
        if colors[start] < 0:
            component, bipartite = _try_two(rows, colors, start)
            if not bipartite:
                _dsatur(rows, colors, component)
    return colors


def _try_two(rows: list[list[int]], colors: list[int], start: int) -> tuple[list[int], bool]:
    # Breadth first, alternating; goes on after a conflict so as to list the whole component.
    colors[start] = 0
    component, bipartite = [start], True
    for node in component:
        opposite = 1 - colors[node]
        for other in rows[node]:
            if colors[other] < 0:
                colors[other] = opposite
                component.append(other)
            elif colors[other] != opposite:
                bipartite = False
    return component, bipartite


def _dsatur(rows: list[list[int]], colors: list[int], component: list[int]) -> None:
    # The next node is the one whose neighbours already have the most colors, ties broken by degree. A node whose count
    # has risen is pushed again; its older entries are met later, when it has its color, and skipped.
    for node in component:
        colors[node] = -1
    taken = dict.fromkeys(component, 0)  # bit c is set when a neighbour has color c
    heap = [(0, -len(rows[node]), node) for node in component]
    heapify(heap)
    while heap:
        node = heappop(heap)[2]
        if colors[node] >= 0:
            continue
        mask = taken[node]
        bit = ~mask & (mask + 1)  # the lowest bit that is not set
        colors[node] = bit.bit_length() - 1
        for other in rows[node]:
            if colors[other] < 0 and not taken[other] & bit:
                taken[other] |= bit
                heappush(heap, (-taken[other].bit_count(), -len(rows[other]), other))
