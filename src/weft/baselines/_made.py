"""MADE: the density that lets every variable depend on all before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any, Literal

import torch
from torch import nn

from .._arguments import check_word
from ..graph import Graph, Structure
from ..masks import Made, MadeRandom
from ..models import StrNNDensity

__all__ = ["MADE"]


class MADE(StrNNDensity):
    """A fully autoregressive density: every variable depends on all before it, whatever the edges of a graph.

    On rows with missing values its log-density is a sum over other terms than that of a model with fewer edges; compare
    the two on complete rows alone.

    Args:
        graph: A `Graph`, or what `weft.Graph` reads, whose variables are taken, in a topological order.
        kinds: As in `StrNNDensity`.
        hidden: Units of each hidden layer.
        activation: As in `StrNNDensity`.
        masks: ``"fixed"``, degrees in turn, or ``"random"``, degrees drawn, which may lose dependences; with fewer
            units than variables that is the only way.
        seed: Seed of random masks.
        missing: As in `StrNNDensity`.
        device: Device of the parameters.
        dtype: Type of the parameters.

    Examples:
        >>> import torch, weft
        >>> g = weft.Graph.from_edges([("age", "dose"), ("dose", "recovery")])
        >>> weft.baselines.MADE(g, hidden=(32,)).graph.parents("recovery")
        ('age', 'dose')

    References:
        MADE: Masked Autoencoder for Distribution Estimation (Germain et al., 2015). https://arxiv.org/abs/1502.03509
    """

    def __init__(
        self,
        graph: Any,
        kinds: Any = "binary",
        hidden: Sequence[int] = (128, 128),
        activation: str | nn.Module | Callable[[], nn.Module] = "silu",
        masks: Literal["fixed", "random"] = "fixed",
        seed: int = 0,
        missing: Literal["refuse", "factor"] = "refuse",
        *,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        check_word("masks", masks, "fixed", "random", error=ValueError)
        read = Structure.of(graph).dag()
        full = Graph.from_edges(combinations(read.order, 2), nodes=read.nodes)
        super().__init__(
            full,
            kinds,
            hidden,
            activation,
            Made() if masks == "fixed" else MadeRandom(seed),
            "dense",
            missing=missing,
            device=device,
            dtype=dtype,
        )
