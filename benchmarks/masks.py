"""How long does it take to turn a graph into masks, and are they the published ones?

Against the factorizers of strnn 0.2.0, the paper's own code, and the masks of zuko's MaskedMLP, in the same run. The
largest graphs, which no peer can hold, run in a process of their own so that the peak memory is theirs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import zuko
from strnn.factorizers import GreedyFactorizer

import weft
from _common import alone, write


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = function()
    return time.perf_counter() - start, found


def against_strnn(d: int, widths: tuple[int, int]) -> dict[str, Any]:
    graph = weft.graph.random_dag(d, parents=3.0, seed=0)
    ours, f = timed(lambda: weft.factorize(graph, widths))
    theirs, masks = timed(lambda: GreedyFactorizer(graph.adjacency().astype(float)).factorize(widths))
    same = all(np.array_equal(mask, other.T != 0) for mask, other in zip(f.masks, masks, strict=True))
    return _row(f"greedy, d = {d}", f, "strnn", ours, theirs, same=same)


def against_zuko(d: int, widths: tuple[int, int]) -> dict[str, Any]:
    graph = weft.graph.random_dag(d, parents=3.0, seed=0)
    adjacency = torch.from_numpy(graph.adjacency())
    ours, f = timed(lambda: weft.factorize(graph, widths, "zuko"))
    theirs, mlp = timed(lambda: zuko.nn.MaskedMLP(adjacency, hidden_features=widths))
    masks = [layer.mask.numpy() for layer in mlp if hasattr(layer, "mask")]
    same = all(np.array_equal(mask, other) for mask, other in zip(f.masks, masks, strict=True))
    return _row(f"zuko, d = {d}", f, "zuko (masks and weights)", ours, theirs, same=same)


def large(method: str, d: int, hubs: float) -> dict[str, Any]:
    graph = weft.graph.random_dag(d, parents=3.0, hubs=hubs, seed=0)
    ours, f = timed(lambda: weft.factorize(graph, (2 * d, 2 * d), method))
    kind = "Zipf out-degrees" if hubs else "uniform"
    return _row(f"{method}, d = {d:,}, {kind}", f, "none can hold it", ours)


def _row(
    work: str, f: weft.Factorization, peer: str, ours: float, theirs: float | None = None, *, same: bool | None = None
) -> dict[str, Any]:
    row = {"work": work, "widths": str(f.widths), "edges": f.structure.edges_count, "weights": f.weights}
    row |= {"lost": len(f.lost), "weft_seconds": ours, "peer": peer}
    if theirs is not None:
        row |= {"peer_seconds": theirs, "times_faster": theirs / ours, "identical": same}
    return row


def main() -> None:
    against_strnn(50, (100, 100))  # both meet a warm machine
    rows = [
        against_strnn(200, (400, 400)),
        against_strnn(2000, (4000, 4000)),
        against_zuko(2000, (4000, 4000)),
        alone(large, "greedy", 100_000, 0.0),
        alone(large, "grouped", 100_000, 1.0),
    ]
    columns = {
        "work": "masks",
        "widths": "widths",
        "weights": "weights kept",
        "weft_seconds": "Weft, s",
        "peer": "peer",
        "peer_seconds": "peer, s",
        "times_faster": "times faster",
        "identical": "identical masks",
        "peak_gib": "peak memory, GiB",
    }
    write("masks", rows, columns, "Random DAGs with three parents drawn per node; one run each.")


if __name__ == "__main__":
    main()
