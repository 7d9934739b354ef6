"""Does ``execution="auto"`` choose the faster execution?

Both executions of networks from tiny to large, sparse to full. The regret is what the choice costs beyond the better.
On a GPU larger networks join, since that is where the two meet.
"""

from __future__ import annotations

import torch

import weft
from _common import DEVICE, seconds_of, write
from weft import graph as g

NETWORKS = {
    "random, 15 variables": (g.random_dag(15), (128, 128)),
    "random, 50 variables": (g.random_dag(50), (400, 400)),
    "random, 100 variables": (g.random_dag(100), (400, 400)),
    "random, 200 variables": (g.random_dag(200), (800, 800)),
    "random, 400 variables": (g.random_dag(400), (1600, 1600)),
    "random, 30 variables, wide": (g.random_dag(30, parents=2), (1024, 1024)),
    "random half, 100 variables": (g.random_sparse(100, 0.5, 0), (400, 400)),
    "chain of 400": (g.chain(400), (1600, 1600)),
    "star of 500": (g.star(500), (500,)),
    "every other of 15": (g.every_other(15), (60,)),
    "every other of 100": (g.every_other(100), (400, 400)),
    "five previous of 100": (g.previous(100, 5), (400, 400)),
    "twenty previous of 200": (g.previous(200, 20), (800, 800)),
    "pixels 14 x 14, radius 1": (g.neighbourhood(14, 14, 1), (800,)),
    "pixels 14 x 14, radius 3": (g.neighbourhood(14, 14, 3), (800,)),
    "pixels 28 x 28, radius 2": (g.neighbourhood(28, 28, 2), (1568,)),
    "pixels 28 x 28, radius 10": (g.neighbourhood(28, 28, 10), (1568,)),
    "full, 50 variables": (g.full(50), (200, 200)),
    "full, 200 variables": (g.full(200), (400, 400)),
}

LARGE = {
    "random, 1000 variables": (g.random_dag(1000), (4000, 4000)),
    "random, 2000 variables": (g.random_dag(2000), (8000, 8000)),
    "random, 4000 variables": (g.random_dag(4000), (16_000, 16_000)),
    "chain of 2000": (g.chain(2000), (8000, 8000)),
    "star of 4000": (g.star(4000), (8000,)),
    "five previous of 2000": (g.previous(2000, 5), (8000, 8000)),
    "twenty previous of 2000": (g.previous(2000, 20), (8000, 8000)),
    "pixels 64 x 64, radius 2": (g.neighbourhood(64, 64, 2), (16_384,)),
}


def main() -> None:
    rows = []
    for name, (graph, hidden) in (NETWORKS | LARGE if DEVICE == "cuda" else NETWORKS).items():
        chosen = weft.StrNN(graph, hidden, 2, device=DEVICE).execution
        for batch in (64, 256):
            x = torch.randn(batch, len(graph), device=DEVICE)
            nets = {each: weft.StrNN(graph, hidden, 2, execution=each, device=DEVICE) for each in ("dense", "sparse")}
            steps = {each: lambda net=net, x=x: net(x).square().mean().backward() for each, net in nets.items()}
            seconds = seconds_of(steps, rounds=10)
            row = {"network": name, "batch": batch, "chosen": chosen}
            row |= {each: 1e3 * taken for each, taken in seconds.items()}
            row["regret"] = f"{seconds[chosen] / min(seconds.values()) - 1:.0%}"
            rows.append(row)
    columns = {
        "network": "network",
        "batch": "batch",
        "dense": "dense, ms",
        "sparse": "sparse, ms",
        "chosen": "auto chooses",
        "regret": "regret",
    }
    write("execution", rows, columns, "Forward and backward pass, greedy masks, two outputs; medians.")


if __name__ == "__main__":
    main()
