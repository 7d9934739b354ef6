"""What does the loop of `weft.fit` cost over the bare steps, and what do eight models cost in one vectorised run?

Fifteen binary variables, 2000 rows of which 1600 train, and the step that everybody would write by hand.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

import weft
from _common import DEVICE, seconds_of, write

GRAPH = weft.graph.every_other(15)
HIDDEN = (60,)
ROWS, BATCH, EPOCHS, MODELS = 1600, 200, 100, 8


def make() -> weft.StrNNDensity:
    return weft.StrNNDensity(GRAPH, "binary", HIDDEN, device=DEVICE)


def bare_steps(rows: torch.Tensor, *, fused: bool) -> None:
    """Run as many steps as a fit, each on the next batch, and nothing else."""
    model = make()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=fused)
    batches = rows.split(BATCH)
    for _ in range(EPOCHS):
        for batch in batches:
            loss = -model(batch).sum(dim=1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def main() -> None:
    torch.manual_seed(0)
    rows = weft.data.BinaryNetwork.draw(GRAPH, seed=0).sample(ROWS + 400, seed=1).to(DEVICE)
    train, validation = rows[:ROWS], rows[ROWS:]
    options = {"epochs": EPOCHS, "batch_size": BATCH, "patience": None}
    ways: dict[str, tuple[str, Callable[[], object]]] = {
        "fused": ("bare steps, fused Adam", lambda: bare_steps(train, fused=True)),
        "plain": ("bare steps, Adam as PyTorch has it", lambda: bare_steps(train, fused=False)),
        "fit": ("weft.fit, no validation", lambda: weft.fit(make(), train, None, **options)),
        "validated": ("weft.fit, 400 rows validate", lambda: weft.fit(make(), train, validation, **options)),
        "ensemble": (
            f"weft.fit, {MODELS} models in one run",
            lambda: weft.fit([make() for _ in range(MODELS)], train, validation, **options),
        ),
    }
    seconds = seconds_of({name: run for name, (_, run) in ways.items()}, rounds=9)
    steps = EPOCHS * ROWS // BATCH
    table = [
        {
            "way": what,
            "milliseconds": 1e3 * seconds[name] / steps,
            "of_fused": seconds[name] / seconds["fused"],
            "of_plain": seconds[name] / seconds["plain"],
            "of_one": seconds[name] / seconds["validated"],
        }
        for name, (what, _) in ways.items()
    ]
    columns = {
        "way": "what runs",
        "milliseconds": "ms a step",
        "of_fused": "times bare, fused",
        "of_plain": "times bare, plain",
        "of_one": "times one model fitted",
    }
    write("fitting", table, columns, f"{EPOCHS} epochs of {ROWS // BATCH} steps on {BATCH} rows, d = 15; medians.")


if __name__ == "__main__":
    main()
