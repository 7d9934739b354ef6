"""How much faster is a training step when only the edges are paid for?

A masked network of 1000 variables with three parents each, two outputs per variable, against zuko's MaskedMLP of the
same sizes; and against the floor: what the activations alone must cost.
"""

from __future__ import annotations

import torch
import zuko

import weft
from _common import DEVICE, floor_step, seconds_of, training_step, write

VARIABLES, HIDDEN, BATCH, OUTPUTS = 1000, (8000, 8000), 256, 2


def main() -> None:
    torch.manual_seed(0)
    graph = weft.graph.random_dag(VARIABLES, parents=3.0, seed=0)
    x = torch.randn(BATCH, VARIABLES, device=DEVICE)
    edges = torch.from_numpy(graph.adjacency()).repeat_interleave(OUTPUTS, dim=0)
    makers = {
        "Weft, greedy": lambda: weft.StrNN(graph, HIDDEN, OUTPUTS, execution="sparse", device=DEVICE),
        "Weft, grouped": lambda: weft.StrNN(
            graph, HIDDEN, OUTPUTS, factorization="grouped", execution="sparse", device=DEVICE
        ),
        "zuko MaskedMLP": lambda: zuko.nn.MaskedMLP(edges, hidden_features=HIDDEN).to(DEVICE),
    }
    nets = {name: make() for name, make in makers.items()}
    if DEVICE == "cuda":  # a recorded step has no launches left, which most of a sparse step is
        for name, make in makers.items():
            nets[f"{name}, CUDA graph"] = torch.cuda.make_graphed_callables(make(), (x,))
    steps = {name: training_step(net, x) for name, net in nets.items()}
    seconds = seconds_of({name: step for name, step in steps.items() if "Weft" in name}, rounds=30)
    seconds |= seconds_of({name: step for name, step in steps.items() if "zuko" in name}, rounds=5)
    floor_name = "floor: activations without weights"
    seconds |= seconds_of({floor_name: floor_step((*HIDDEN, OUTPUTS * VARIABLES), BATCH)}, rounds=30)

    peer, floor = seconds["zuko MaskedMLP"], seconds[floor_name]
    rows = [
        {
            "network": name,
            "milliseconds": 1e3 * taken,
            "times_faster": peer / taken,
            "times_floor": taken / floor,
            "parameters": sum(p.numel() for p in nets[name].parameters()) if name in nets else 0,
        }
        for name, taken in seconds.items()
    ]
    columns = {
        "network": "network",
        "milliseconds": "ms per step",
        "times_faster": "times faster than zuko",
        "times_floor": "times the floor",
        "parameters": "parameters stored",
    }
    note = (
        f"{VARIABLES} variables, three parents drawn each, hidden {HIDDEN}, {OUTPUTS} outputs each, batch {BATCH}; "
        "Adam; medians. The floor makes the activations of all layers, and their gradients, with nothing in between."
    )
    write("training_step", rows, columns, note)


if __name__ == "__main__":
    main()
