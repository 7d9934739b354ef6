"""One masked linear layer, executed densely or by blocks; both hold the same weights in their own arrangement."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn

from ._blocks import run_blocks
from ._fixed import Fixed
from ._plan import BlockPlan

__all__ = ["BlockLinear", "MaskedLinear", "Skip", "StructuredLinear", "skip_places"]


class StructuredLinear(Fixed, ABC):
    """A linear layer that reads only what its mask keeps.

    It maps (inputs, batch) to (units, batch): with a feature to a row, the inputs of a block are whole rows of memory.
    The weights in CSR order of the mask are the common language of all executions.
    """

    weight: nn.Parameter
    bias: nn.Parameter | None
    order: np.ndarray
    """The original number of the unit at each place of the output."""

    def __init__(
        self,
        mask: sp.csr_array,
        stored: tuple[int, ...],
        *,
        bias: bool,
        device: torch.device | str | None,
        dtype: torch.dtype | None,
    ) -> None:
        super().__init__()
        units, self.inputs = mask.shape
        self.weight = nn.Parameter(torch.zeros(stored, device=device, dtype=dtype))
        self.bias = nn.Parameter(torch.zeros((units,), device=device, dtype=dtype)) if bias else None

    @abstractmethod
    def read(self) -> tuple[Tensor, Tensor | None]:
        """Return the weights in CSR order and the biases in unit order."""

    @abstractmethod
    def write(self, weights: Tensor, bias: Tensor | None) -> None:
        """Set the weights from CSR order and the biases from unit order."""


class MaskedLinear(StructuredLinear):
    """A linear layer whose full weight is multiplied by the mask: best where the mask is dense.

    Args:
        mask: Boolean CSR array (units, inputs) with sorted indices.
        bias: Whether each unit has a bias.
        device: Device of the parameters.
        dtype: Type of the parameters.
    """

    mask: Tensor

    def __init__(
        self,
        mask: sp.csr_array,
        *,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(mask, mask.shape, bias=bias, device=device, dtype=dtype)
        self.order = np.arange(mask.shape[0])
        self.kept = int(mask.nnz)
        self.fix("mask", mask.toarray(), self.weight.device)

    def forward(self, x: Tensor) -> Tensor:
        """Map (inputs, batch) to (units, batch)."""
        weight = self.weight * self.mask
        return weight @ x if self.bias is None else torch.addmm(self.bias.unsqueeze(1), weight, x)

    def read(self) -> tuple[Tensor, Tensor | None]:
        """Return the weights in CSR order and the biases in unit order."""
        return self.weight[self.mask], self.bias

    @torch.no_grad()
    def write(self, weights: Tensor, bias: Tensor | None) -> None:
        """Set the weights from CSR order and the biases from unit order."""
        self.weight.zero_()[self.mask] = weights.to(self.weight)
        if self.bias is not None and bias is not None:
            self.bias.copy_(bias)

    def extra_repr(self) -> str:
        """Show the size and what the mask keeps."""
        units, inputs = self.weight.shape
        return f"{inputs} -> {units}, {self.kept:,} of {units * inputs:,} weights, bias={self.bias is not None}"


class BlockLinear(StructuredLinear):
    """A linear layer that stores and multiplies only what its mask keeps, block by block.

    It gives its units in the order of its plan.

    Args:
        mask: Boolean CSR array (units, inputs) with sorted indices.
        below: The order in which the inputs come.
        bias: Whether each unit has a bias.
        device: Device of the parameters.
        dtype: Type of the parameters.
    """

    gather: Tensor

    def __init__(
        self,
        mask: sp.csr_array,
        below: np.ndarray,
        *,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(mask, (mask.nnz,), bias=bias, device=device, dtype=dtype)
        self.plan = BlockPlan.of(mask, below)
        self.order = self.plan.order
        self.fix("gather", self.plan.gather, self.weight.device)

    def forward(self, x: Tensor) -> Tensor:
        """Map (inputs, batch) to (units, batch)."""
        return run_blocks(x, self.weight, self.bias, self.gather, self.plan.buckets)

    def read(self) -> tuple[Tensor, Tensor | None]:
        """Return the weights in CSR order and the biases in unit order."""
        bias = None if self.bias is None else self.bias[torch.from_numpy(np.argsort(self.order))]
        return self.weight[torch.from_numpy(np.argsort(self.plan.entries))], bias

    @torch.no_grad()
    def write(self, weights: Tensor, bias: Tensor | None) -> None:
        """Set the weights from CSR order and the biases from unit order."""
        self.weight.copy_(weights.to(self.weight)[torch.from_numpy(self.plan.entries)])
        if self.bias is not None and bias is not None:
            self.bias.copy_(bias.to(self.bias)[torch.from_numpy(self.order)])

    def extra_repr(self) -> str:
        """Show the size and how the mask is cut."""
        blocks = sum(bucket.blocks for bucket in self.plan.buckets)
        return (
            f"{self.inputs} -> {len(self.order)}, {self.weight.numel():,} weights in {blocks:,} blocks of "
            f"{len(self.plan.buckets)} shapes, bias={self.bias is not None}"
        )


class Skip(Fixed):
    """What a residual layer adds to itself: the unit of its own number below, wherever its mask lets it read that.

    Args:
        mask: Boolean CSR array (units, units below), square.
        order: The order of the units.
        below: The order of the units below.
        device: Device of the buffers.
    """

    places: Tensor
    allowed: Tensor

    def __init__(
        self, mask: sp.csr_array, order: np.ndarray, below: np.ndarray, device: torch.device | str | None = None
    ) -> None:
        super().__init__()
        places, allowed = skip_places(mask, order, below)
        self.fix("places", places, device)
        self.fix("allowed", allowed, device)

    def forward(self, below: Tensor) -> Tensor:
        """Map the units below, (units, batch), to what is added."""
        return below.index_select(0, self.places) * self.allowed.unsqueeze(1)


def skip_places(mask: sp.csr_array, order: np.ndarray, below: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where each unit finds the unit of its own number below, and whether its mask reads that one."""
    return np.argsort(below)[order], mask.diagonal()[order]
