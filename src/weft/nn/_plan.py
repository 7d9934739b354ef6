"""How a mask is executed sparsely: its units cut into dense blocks, blocks of one shape stacked into buckets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..masks import distinct_rows

__all__ = ["BlockPlan", "Bucket"]


@dataclass(frozen=True)
class Bucket:
    """Equal-shaped blocks that one batched matrix product computes.

    Args:
        blocks: Number of blocks.
        units: Units of each block, all reading the same inputs.
        inputs: Inputs of each block.
        stage: When its units can be computed, where inputs arrive in stages.
    """

    blocks: int
    units: int
    inputs: int
    stage: int

    @property
    def rows(self) -> int:
        """Number of units in the bucket."""
        return self.blocks * self.units

    @property
    def gathered(self) -> int:
        """Number of input rows that the bucket gathers."""
        return self.blocks * self.inputs

    @property
    def weights(self) -> int:
        """Number of weights in the bucket."""
        return self.blocks * self.units * self.inputs


@dataclass(frozen=True, eq=False)
class BlockPlan:
    """The order in which a layer's units are computed, and where each finds its inputs and weights.

    Units with the same inputs form a block. Blocks of the same shape stand together as a bucket, so that a layer is a
    few batched products and stores exactly the weights that its mask keeps. The layer's outputs come in the plan's own
    order, which the next layer's plan takes into account: nothing is ever put back in place between layers.

    Args:
        order: The original number of the unit at each place.
        gather: The places, in the layer below, of the inputs of every block, bucket after bucket.
        entries: For each stored weight, which entry of the mask (counted in CSR order) it is.
        buckets: The shapes, in order.
    """

    order: np.ndarray
    gather: np.ndarray
    entries: np.ndarray
    buckets: tuple[Bucket, ...]

    @classmethod
    def of(cls, mask: sp.csr_array, below: np.ndarray, stages: np.ndarray | None = None) -> BlockPlan:
        """Plan a layer.

        Args:
            mask: Boolean CSR array (units, inputs) with sorted indices.
            below: The order of the layer below.
            stages: The stage of each unit; units are ordered by stage first.

        Examples:
            >>> import numpy as np, scipy.sparse as sp
            >>> mask = sp.csr_array(np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1]], dtype=bool))
            >>> plan = BlockPlan.of(mask, below=np.arange(3))
            >>> plan.order.tolist(), plan.gather.tolist()
            ([1, 0, 2], [1, 0, 2])
        """
        count = mask.shape[0]
        if stages is None:
            stages = np.zeros(count, dtype=np.int64)
        place = np.empty(len(below), dtype=np.int64)
        place[below] = np.arange(len(below))
        sizes = np.diff(mask.indptr).astype(np.int64)
        first, like = distinct_rows(mask)
        # Units without inputs (−1) are a block too, of width zero. A stage never shares a block with another.
        _, block = np.unique(stages * (len(first) + 1) + like, return_inverse=True)
        units = np.bincount(block, minlength=1)
        lowest = np.zeros(count, dtype=np.int64)
        if mask.nnz:
            lowest[sizes > 0] = np.minimum.reduceat(place[mask.indices], mask.indptr[:-1][sizes > 0])
        order = np.lexsort((np.arange(count), block, lowest, sizes, units[block], stages))

        numbered = sp.csr_array((np.arange(mask.nnz), place[mask.indices], mask.indptr), shape=mask.shape)[order]
        numbered.sort_indices()

        shape = np.stack([stages, units[block], sizes], axis=1)[order]
        starts = np.flatnonzero(np.any(np.diff(shape, axis=0, prepend=-1), axis=1))
        ends = np.append(starts, count)[1:]
        buckets = tuple(
            Bucket(
                int((end - start) // shape[start, 1]), int(shape[start, 1]), int(shape[start, 2]), int(shape[start, 0])
            )
            for start, end in zip(starts, ends, strict=True)
        )
        # The inputs of a block are those of its first unit.
        leaders = [np.arange(start, end, shape[start, 1]) for start, end in zip(starts, ends, strict=True)]
        gather = numbered[np.concatenate([np.empty(0, dtype=np.int64), *leaders])].indices.astype(np.int64)
        return cls(order, gather, numbered.data.astype(np.int64), buckets)
