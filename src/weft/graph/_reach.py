"""Ancestors within a number of steps, counted before they are stored."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = ["ancestors_within"]

_BLOCK_BITS = 2**30
_CHUNK_BYTES = 2**22


def ancestors_within(
    parents: sp.csr_array, levels: NDArray[np.int64], steps: int | None, max_edges: int
) -> tuple[sp.csr_array | None, int]:
    """Mark every ancestor within ``steps`` edges (any number for None), unless there are more than ``max_edges``.

    A set of ancestors is a Python integer with one bit per node, so that a union is one `|` and its size one
    `bit_count`, whatever the shape of the graph. The bits come in blocks of columns, which bounds the memory.

    Args:
        parents: Boolean CSR array of an acyclic graph, row = child.
        levels: Generation of every node.
        steps: Longest path to follow.
        max_edges: Most entries to store.

    Returns:
        The boolean CSR array, or None when it has more than ``max_edges`` entries; and the number of its entries, or
        what it exceeds where its steps are limited, since to go on counting takes work for each of them.
    """
    size = parents.shape[0]
    order = np.argsort(levels, kind="stable")
    sorted_parents = _parent_lists(parents, order)
    rounds = None if steps is None or steps >= levels.max(initial=0) else steps
    if rounds is not None:
        least = int(np.minimum(levels, rounds).sum())  # of the longest path that ends in each node
        if least > max_edges:
            return None, least
    width = max(64, _BLOCK_BITS // max(size, 1))
    total = 0
    rows, columns = [np.zeros(0, dtype=np.int32)], [np.zeros(0, dtype=np.int32)]
    for start in range(0, size, width):
        reach = _block(sorted_parents, start, min(start + width, size), rounds)
        total += sum(map(int.bit_count, reach))
        if total > max_edges and rounds is not None:
            break
        if total <= max_edges:
            for row, column in _entries(reach):
                rows.append(order[row + start].astype(np.int32))
                columns.append(order[column + start].astype(np.int32))
    if total > max_edges:
        return None, total
    places = (np.concatenate(rows), np.concatenate(columns))
    return sp.coo_array((np.ones(total, dtype=bool), places), shape=(size, size)).tocsr(), total


def _parent_lists(parents: sp.csr_array, order: NDArray[np.int64]) -> list[list[int]]:
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    indices = place[parents.indices]
    bounds = parents.indptr.tolist()
    return [indices[bounds[node] : bounds[node + 1]].tolist() for node in order.tolist()]


def _block(parents: list[list[int]], start: int, stop: int, rounds: int | None) -> list[int]:
    # Entry i belongs to the node at topological position start + i; bit j to its ancestor at position start + j.
    # Nodes before ``start`` have no ancestor in the block.
    inside = [[parent - start for parent in row if parent >= start] for row in parents[start:]]
    count = stop - start
    reach = [1 << i if i < count else 0 for i in range(len(inside))]
    if rounds is None:
        for node, row in enumerate(inside):
            bits = reach[node]
            for parent in row:
                bits |= reach[parent]
            reach[node] = bits
    else:
        for _ in range(rounds):
            for node in range(len(inside) - 1, -1, -1):  # backwards, so that parents are still those of last round
                bits = reach[node]
                for parent in inside[node]:
                    bits |= reach[parent]
                reach[node] = bits
    for i in range(count):
        reach[i] ^= 1 << i  # a node is no ancestor of itself
    return reach


def _entries(reach: list[int]) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    # Unpack the bits of the non-empty rows, of non-zero bytes only.
    filled = [row for row, bits in enumerate(reach) if bits]
    found = []
    width = max((max(reach).bit_length() + 7) // 8, 1) if filled else 1
    step = max(1, _CHUNK_BYTES // width)
    for first in range(0, len(filled), step):
        chunk = filled[first : first + step]
        packed = np.frombuffer(b"".join(reach[row].to_bytes(width, "little") for row in chunk), dtype=np.uint8)
        used = np.flatnonzero(packed)
        byte, bit = np.nonzero(np.unpackbits(packed[used, None], axis=1, bitorder="little"))
        row, offset = np.divmod(used[byte], width)
        found.append((np.asarray(chunk)[row], offset * 8 + bit))
    return found
