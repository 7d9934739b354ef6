"""Random numbers of a run that leave those of the process as they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["seeded"]


@contextmanager
def seeded(device: torch.device, seed: int) -> Iterator[None]:
    """Seed the processor and one device, and give both their state back at the end.

    `torch.manual_seed` seeds every device, also those that nobody restores.
    """
    with torch.random.fork_rng([device] if device.type == "cuda" else []):
        torch.default_generator.manual_seed(seed)
        if device.type == "cuda":
            torch.cuda.default_generators[device.index].manual_seed(seed)
        yield
