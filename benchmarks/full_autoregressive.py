"""Is a dense structure, where there is nothing to save, at least not slower than with zuko?"""

from __future__ import annotations

import torch
import zuko

import weft
from _common import DEVICE, seconds_of, training_step, write


def main() -> None:
    torch.manual_seed(0)
    rows = []
    for d, hidden, batch in ((784, (1568,), 256), (784, (1568,), 64), (784, (1568, 1568), 256), (100, (200, 200), 256)):
        graph = weft.graph.full(d)
        x = torch.randn(batch, d, device=DEVICE)
        ours = weft.StrNN(graph, hidden, device=DEVICE)
        theirs = zuko.nn.MaskedMLP(torch.from_numpy(graph.adjacency()), hidden_features=hidden).to(DEVICE)
        seconds = seconds_of({"weft": training_step(ours, x), "zuko": training_step(theirs, x)}, rounds=40, warmup=5)
        rows.append(
            {
                "network": f"d = {d}, hidden {hidden}, batch {batch}",
                "execution": ours.execution,
                "weft_milliseconds": 1e3 * seconds["weft"],
                "zuko_milliseconds": 1e3 * seconds["zuko"],
                "ratio": seconds["weft"] / seconds["zuko"],
            }
        )
    columns = {
        "network": "network",
        "execution": "execution chosen",
        "weft_milliseconds": "Weft, ms per step",
        "zuko_milliseconds": "zuko MaskedMLP, ms per step",
        "ratio": "Weft / zuko",
    }
    write(
        "full_autoregressive", rows, columns, "Every variable on all earlier ones; Adam; medians, the two taking turns."
    )


if __name__ == "__main__":
    main()
