"""What does it cost to sample when every hidden unit is computed once, and not once per generation or per variable?

The walk over the level schedule against the same network run in full once per generation, and once per variable.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

import weft
from _common import DEVICE, seconds_of, write
from weft import graph as g

GRAPHS = {
    "random, 100 variables": g.random_dag(100),
    "random, 1000 variables": g.random_dag(1000),
    "chain of 100": g.chain(100),
    "pixels 14 x 14, radius 2": g.neighbourhood(14, 14, 2),
    "full, 100 variables": g.full(100),
}
BATCH = 256


def walk(schedule: weft.nn.LevelSchedule, noise: torch.Tensor) -> torch.Tensor:
    """Let every variable be its output plus noise, by generations."""
    x = torch.empty_like(noise)
    under_way = schedule.walk(batch=len(noise))
    for generation in schedule.generations:
        x[:, generation] = under_way.outputs() + noise[:, generation]
        under_way.advance(x[:, generation])
    return x


def passes(net: weft.StrNN, noise: torch.Tensor, count: int) -> torch.Tensor:
    """Do the same by full passes: each sets one more generation right."""
    x = noise
    for _ in range(count):
        x = net(x) + noise
    return x


def without_gradients(function: Callable[..., object], *arguments: object) -> Callable[[], object]:
    return torch.no_grad()(lambda: function(*arguments))


def main() -> None:
    torch.manual_seed(0)
    rows = []
    for name, graph in GRAPHS.items():
        d, generations = len(graph), len(graph.generations)
        net = weft.StrNN(graph, (4 * d, 4 * d), device=DEVICE)
        noise, schedule = torch.randn(BATCH, d, device=DEVICE), weft.nn.LevelSchedule(net)
        seconds = seconds_of(
            {
                "pass": without_gradients(net, noise),
                "walk": without_gradients(walk, schedule, noise),
                "pass_per_generation": without_gradients(passes, net, noise, generations),
                "pass_per_variable": without_gradients(passes, net, noise, d),
            },
            rounds=5,
        )
        with torch.no_grad():
            error = float((walk(schedule, noise) - passes(net, noise, generations)).abs().max())
        row = {"graph": name, "generations": generations, "largest_difference": error, "execution": net.execution}
        rows.append(row | {key: 1e3 * taken for key, taken in seconds.items()})
        rows[-1]["in_passes"] = seconds["walk"] / seconds["pass"]
        rows[-1]["times_faster"] = seconds["pass_per_generation"] / seconds["walk"]
    columns = {
        "graph": "graph",
        "generations": "generations",
        "pass": "one pass, ms",
        "walk": "walk, ms",
        "pass_per_generation": "a pass per generation, ms",
        "pass_per_variable": "a pass per variable, ms",
        "in_passes": "walk, in passes",
        "times_faster": "times faster than a pass per generation",
    }
    write("sampling", rows, columns, f"Two hidden layers of four units per variable, {BATCH} rows; medians.")


if __name__ == "__main__":
    main()
