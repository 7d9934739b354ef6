"""How long do 100 rows of a density over 784 variables take, against zuko's masked autoregressive flow?

Full autoregressive, and pixels that depend on a neighbourhood. zuko inverts one variable at a time, by a pass each.
"""

from __future__ import annotations

import torch
import zuko

import weft
from _common import DEVICE, seconds_of, write

ROWS = 100
HIDDEN = (1568,)


def main() -> None:
    torch.manual_seed(0)
    full, pixels = weft.graph.full(784), weft.graph.neighbourhood(28, 28, 3)
    flow = zuko.flows.MAF(784, transforms=1, hidden_features=HIDDEN).to(DEVICE)
    models = {
        "full, gaussian": weft.StrNNDensity(full, "gaussian", HIDDEN, factorization="made", device=DEVICE),
        "full, binary": weft.StrNNDensity(full, "binary", HIDDEN, factorization="made", device=DEVICE),
        "pixels of radius 3, gaussian": weft.StrNNDensity(pixels, "gaussian", HIDDEN, device=DEVICE),
        "pixels of radius 3, binary": weft.StrNNDensity(pixels, "binary", HIDDEN, device=DEVICE),
    }
    ways = {name: (lambda model=model: model.sample(ROWS)) for name, model in models.items()}

    @torch.no_grad()
    def inverted() -> torch.Tensor:
        return flow().sample((ROWS,))

    seconds = seconds_of({**ways, "zuko": inverted}, rounds=5, warmup=1)
    table = [
        {
            "model": name,
            "generations": len(model.graph.generations),
            "milliseconds": 1e3 * seconds[name],
            "zuko_milliseconds": 1e3 * seconds["zuko"],
            "times_faster": seconds["zuko"] / seconds[name],
        }
        for name, model in models.items()
    ]
    columns = {
        "model": "StrNNDensity",
        "generations": "generations",
        "milliseconds": "ms",
        "zuko_milliseconds": "zuko's MAF, full, ms",
        "times_faster": "times faster",
    }
    write(
        "density_sampling", table, columns, f"{ROWS} rows of 784 variables, one hidden layer of {HIDDEN[0]}; medians."
    )


if __name__ == "__main__":
    main()
