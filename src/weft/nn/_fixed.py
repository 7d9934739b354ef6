"""Buffers that follow from a structure, and not from training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

__all__ = ["Fixed"]


class Fixed(nn.Module):
    """A module with buffers that follow from its structure, and keep their values wherever the module is moved.

    Torch's own way from the meta device, `to_empty`, would leave a mask with whatever stood in memory.
    """

    def __init__(self) -> None:
        super().__init__()
        self._fixed: dict[str, np.ndarray] = {}

    def fix(self, name: str, values: np.ndarray | None, device: torch.device | str | None) -> None:
        """Register a buffer with these values, or None where there is nothing to hold."""
        if values is not None:
            self._fixed[name] = values
        buffer = None if values is None else torch.from_numpy(values).to(device)
        self.register_buffer(name, buffer, persistent=False)

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Fixed:  # noqa: FBT001, FBT002
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        for name, values in self._fixed.items():
            setattr(self, name, torch.from_numpy(values).to(getattr(self, name).device))
        return self
