"""Does the time of a training step grow with the edges, up to a hundred thousand variables?

Each size runs in a process of its own, so that the peak memory is its own.
"""

from __future__ import annotations

import time
from typing import Any

import torch

import weft
from _common import DEVICE, alone, floor_step, seconds_of, training_step, write


def step(method: str, d: int, hubs: float, per_variable: int, batch: int) -> dict[str, Any]:
    torch.manual_seed(0)
    graph = weft.graph.random_dag(d, parents=3.0, hubs=hubs, seed=0)
    start = time.perf_counter()
    net = weft.StrNN(graph, (per_variable * d,) * 2, 2, factorization=method, execution="sparse", device=DEVICE)
    built = time.perf_counter() - start
    x, layers = torch.randn(batch, d, device=DEVICE), (per_variable * d, per_variable * d, 2 * d)
    seconds = seconds_of({"step": training_step(net, x), "floor": floor_step(layers, batch)}, rounds=9)
    return {
        "graph": "Zipf" if hubs else "uniform",
        "method": method,
        "execution": net.execution,
        "variables": d,
        "edges": graph.edges_count,
        "units": 2 * per_variable * d,
        "batch": batch,
        "parameters": sum(p.numel() for p in net.parameters()),
        "build_seconds": built,
        "milliseconds": 1e3 * seconds["step"],
        "floor_milliseconds": 1e3 * seconds["floor"],
    }


def main() -> None:
    rows = []
    for method, hubs in (("greedy", 0.0), ("grouped", 1.0)):
        series = [alone(step, method, d, hubs, 8, 256) for d in (1000, 4000, 16_000)]
        for row in series:
            row["edges_ratio"] = row["edges"] / series[0]["edges"]
            row["time_ratio"] = row["milliseconds"] / series[0]["milliseconds"]
            row["floor_ratio"] = row["floor_milliseconds"] / series[0]["floor_milliseconds"]
        rows += series
    rows.append(alone(step, "greedy", 100_000, 0.0, 4, 64))
    rows.append(alone(step, "grouped", 100_000, 1.0, 4, 64))
    columns = {
        "graph": "graph",
        "method": "method",
        "variables": "variables",
        "edges": "edges",
        "units": "hidden units",
        "batch": "batch",
        "parameters": "parameters",
        "build_seconds": "building, s",
        "milliseconds": "ms per step",
        "edges_ratio": "times the edges",
        "time_ratio": "times the time",
        "floor_milliseconds": "floor, ms",
        "floor_ratio": "floor, times the time",
        "peak_gib": "peak memory, GiB",
    }
    note = (
        "Three parents drawn per node, two hidden layers, two outputs per variable, sparse execution, Adam; medians. "
        "The ratios are to the first row of a series. The floor makes the activations of all layers, and their "
        "gradients, with nothing in between: what of the growth is the memory's."
    )
    write("scaling", rows, columns, note)


if __name__ == "__main__":
    main()
