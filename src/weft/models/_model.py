"""What every density that follows a graph can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import torch
from torch import Generator, Tensor

from .._errors import shorten
from ..data._values import refuse_values
from ..graph import Graph
from ..nn._checks import check_columns
from ..nn._fixed import Fixed

__all__ = ["DensityModel"]


class DensityModel(Fixed, ABC):
    """A density over the variables of a graph, columns in the order of ``graph.nodes``.

    A model gives `forward`, the bare terms; what a person calls checks its input first. Training goes through
    `forward`, so that whatever is hooked to the module sees it.
    """

    graph: Graph
    context: int
    """Number of context columns, 0 for none."""

    @abstractmethod
    def forward(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        """Return log p(x_i | its parents) for every variable, (…, d), without a look at the values."""

    @abstractmethod
    def sample(self, n: int, context: Tensor | None = None, generator: Generator | None = None) -> Tensor:
        """Draw n rows, (n, d)."""

    @abstractmethod
    def valid(self, x: Tensor) -> Tensor:
        """Tell for which values (…, d) the model has a density."""

    @abstractmethod
    def expected(self, column: int) -> str:
        """Say which values of a column are valid."""

    @property
    @abstractmethod
    def standardized(self) -> bool:
        """Whether the units of the columns are settled, by `standardize_`."""

    @abstractmethod
    def standardize_(self, train: Tensor | None) -> Self:
        """Take centre and spread of the continuous columns from training rows, and return the model.

        The network then works in standard units; densities and samples stay in the units of the data. None settles
        that the units stay as they are.
        """

    def effective_graph(self) -> Graph:
        """Return the graph that the model really obeys."""
        return self.graph

    def log_prob_terms(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        """Return log p(x_i | its parents) for every variable, (…, d); they sum to `log_prob`."""
        self.check(x, context)
        terms: Tensor = self(x, context)
        return terms

    def log_prob(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        """Return the log-density of each row, (…)."""
        return self.log_prob_terms(x, context).sum(dim=-1)

    def check(self, x: Tensor, context: Tensor | None = None) -> None:
        """Raise at the first value that is missing or out of range, naming its column and row."""
        self.check_context(context)
        nodes = self.graph.nodes
        if not isinstance(x, Tensor):
            raise ValueError(  # noqa: TRY004
                f"x is a {type(x).__name__}, expected a torch.Tensor: pass weft.data.read_table(x, model.graph.nodes)."
            )
        check_columns(x, len(nodes), lambda: shorten(nodes), next(self.parameters()))
        refuse_values(x, self.valid(x), nodes, self.expected)

    def check_context(self, context: Tensor | None) -> None:
        """Raise at the first number of a context that is not finite, naming its column and row."""
        if not isinstance(context, Tensor) or bool(torch.isfinite(context).all()):
            return  # what is no tensor is the network's to refuse
        rows = context.reshape(-1, context.shape[-1])
        row, column = (int(place) for place in (~torch.isfinite(rows)).nonzero()[0])
        raise ValueError(
            f"column {column} of the context, row {row}: got {rows[row, column].item():g}, expected a finite number."
        )
