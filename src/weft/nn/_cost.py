"""Which execution is cheaper: a rule stated once, calibrated by ``benchmarks/execution.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import scipy.sparse as sp
import torch

from ..graph import read_binary_matrix
from ..masks import distinct_rows

__all__ = ["cheaper_execution"]

GATHERED_ROW = 50
"""Gathering one row for a block costs as much as this many dense multiply-adds per row of the batch."""

PRODUCT = {"cpu": 10_000, "cuda": 3_000_000}
"""Starting one batched product costs as much as this many, by type of device."""


def cheaper_execution(
    masks: Sequence[sp.csr_array], device: torch.device | str | None = None
) -> Literal["dense", "sparse"]:
    """Return the execution that needs less time for a training step on some hundred rows.

    Dense execution pays one multiply-add for every entry of a mask. Sparse execution pays one for every weight that the
    mask keeps, 50 for every input that a block gathers, and 10,000 for every shape of blocks, which is one batched
    product (3,000,000 on CUDA, where dense products are cheap and starting one is not).

    Examples:
        >>> import weft
        >>> from weft.nn import cheaper_execution
        >>> cheaper_execution(weft.factorize(weft.graph.full(50)).masks_sparse)
        'dense'
        >>> cheaper_execution(weft.factorize(weft.graph.chain(500), widths=(1000, 1000)).masks_sparse)
        'sparse'
    """
    kind = torch.get_default_device().type if device is None else torch.device(device).type
    read = [read_binary_matrix(mask, f"mask {number}") for number, mask in enumerate(masks, start=1)]
    dense = sum(mask.shape[0] * mask.shape[1] for mask in read)
    sparse = sum(_sparse_cost(mask, PRODUCT.get(kind, PRODUCT["cuda"])) for mask in read)
    return "sparse" if sparse < dense else "dense"


def _sparse_cost(mask: sp.csr_array, product: int) -> int:
    first, like = distinct_rows(mask)
    gathered = np.diff(mask.indptr)[first]  # inputs of each block
    units = np.bincount(like[like >= 0], minlength=len(first))
    shapes = len(np.unique(np.stack([gathered, units]), axis=1).T)
    return int(mask.nnz + GATHERED_ROW * gathered.sum() + product * shapes)
