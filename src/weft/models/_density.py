"""A density with one structured network and one head per variable."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.distributions import AffineTransform, Distribution, Normal, TransformedDistribution

from .._arguments import check_whole, check_word
from .._errors import shorten, show
from ..graph import Graph, Structure
from ..masks import Factorization, Factorizer
from ..nn import LevelSchedule, StrNN
from ..nn._checks import read_device
from ..nn._strnn import HIDDEN
from ._heads import Heads, read_kinds
from ._model import DensityModel

__all__ = ["StrNNDensity"]


class StrNNDensity(DensityModel):
    """A density p(x) = Π p(x_i | parents of x_i) whose parameters come from one structured network.

    Every variable has a head that says how it is distributed: binary, Gaussian, categorical, ordinal or a count, in
    any mix. The network gives each head its parameters from the parents alone, so the density is exactly Markov for
    the graph.

    Args:
        graph: A `Graph`, or what `weft.Graph` reads: a `networkx.DiGraph`, or a 0/1 matrix of a DAG.
        kinds: ``"binary"``, ``"gaussian"``, ``"count"`` (Poisson), ``"poisson"``, ``"negative-binomial"``, or a head
            such as ``weft.models.Categorical(levels=3)``; one for all variables, or ``{name: kind}``.
        hidden: Units of each hidden layer, or ``"auto"``.
        activation: As in `StrNN`, but smooth unless said otherwise: on a sparse graph an edge has but a few hidden
            units, and where all of them are dead ReLUs it is lost for good.
        factorization: As in `StrNN`.
        execution: As in `StrNN`.
        context: Columns of context that every variable may depend on.
        missing: ``"refuse"``, or ``"factor"``: a missing value (NaN) leaves out the terms of its variable and of its
            children, and the others train on the row. That is right where values are missing completely at random, or,
            for each variable, for reasons that depend on its parents alone.
        residual: As in `StrNN`.
        device: Device of the parameters.
        dtype: Type of the parameters.

    Examples:
        >>> import torch, weft
        >>> g = weft.Graph.from_edges([("age", "dose"), ("dose", "recovery"), ("age", "recovery")])
        >>> m = weft.StrNNDensity(g, kinds={"age": "gaussian", "dose": "count", "recovery": "binary"})
        >>> x = m.sample(10)
        >>> m.log_prob(x).shape, m.log_prob_terms(x).shape
        (torch.Size([10]), torch.Size([10, 3]))

    References:
        Structured Neural Networks for Density Estimation and Causal Inference (Chen et al., 2023).
        https://arxiv.org/abs/2311.02221
    """

    shift: Tensor
    scale: Tensor
    settled: Tensor
    _children: Tensor
    _parents: Tensor

    def __init__(
        self,
        graph: Any,
        kinds: Any = "binary",
        hidden: Sequence[int] | str = HIDDEN,
        activation: str | nn.Module | Callable[[], nn.Module] = "silu",
        factorization: str | Factorizer | Factorization = "greedy",
        execution: Literal["auto", "dense", "sparse"] = "auto",
        context: int = 0,
        missing: Literal["refuse", "factor"] = "refuse",
        *,
        residual: bool = False,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        check_word("missing", missing, "refuse", "factor", error=ValueError)
        device = read_device(device)
        self.graph = Structure.of(graph).dag()
        self.context = context
        self.missing = missing
        heads = read_kinds(kinds, self.graph.nodes)
        self.heads = Heads(heads, device)
        self.net = StrNN(
            self.graph,
            hidden,
            [head.parameters for head in heads],
            activation,
            factorization,
            execution,
            context,
            device,
            dtype,
            inputs=[head.features for head in heads],
            residual=residual,
        )
        like = self.net.layers[0].weight
        self.register_buffer("shift", torch.zeros(len(heads), device=like.device, dtype=like.dtype))
        self.register_buffer("scale", torch.ones(len(heads), device=like.device, dtype=like.dtype))
        self.register_buffer("settled", torch.tensor(data=False, device=like.device))
        children, parents = self.graph.adjacency(sparse=True).nonzero()
        for name, ends in (("_children", children), ("_parents", parents)):
            self.fix(name, np.asarray(ends, dtype=np.int64), like.device)
        self._schedule: LevelSchedule | None = None
        self._generations: dict[torch.device, list[tuple[Tensor, Heads]]] = {}

    def forward(self, x: Tensor, context: Tensor | None = None) -> Tensor:
        """Return log p(x_i | its parents) for every variable, (…, d), without a look at the values.

        With ``missing="factor"`` a term is zero where its variable or one of its parents is missing (NaN).
        """
        present = None
        if self.missing == "factor":
            present = self._present(x)
            x = torch.where(torch.isnan(x), self.shift, x)  # any valid value: the terms that read it are left out
        z = (x - self.shift) / self.scale
        terms = self.heads.log_prob(z, self.net(self.heads.encode(z), context)) - torch.log(self.scale)
        return terms if present is None else torch.where(present, terms, 0.0)

    @torch.no_grad()
    def sample(self, n: int, context: Tensor | None = None, generator: torch.Generator | None = None) -> Tensor:
        """Draw n rows, (n, d), generation by generation: every hidden unit is computed once.

        Args:
            n: Number of rows.
            context: Context (n, context), one row for each, where the model has one.
            generator: Source of the random numbers.

        Examples:
            >>> import torch, weft
            >>> m = weft.StrNNDensity(weft.graph.chain(4))
            >>> m.sample(5, generator=torch.Generator().manual_seed(0)).shape
            torch.Size([5, 4])
        """
        n = check_whole("n", n, error=ValueError)
        if generator is not None and not isinstance(generator, torch.Generator):
            raise ValueError(f"generator is {show(generator)}, expected a torch.Generator.")
        self.check_context(context)
        if self._schedule is None:
            self._schedule = LevelSchedule(self.net)
        walk = self._schedule.walk(n, context)
        z = self.shift.new_empty(n, len(self.graph))
        for columns, heads in self._heads_of(self._schedule):
            drawn = heads.sample(walk.outputs(), generator)
            walk.advance(heads.encode(drawn))
            z.index_copy_(1, columns, drawn)
        return z * self.scale + self.shift

    def conditional(
        self, name: Hashable, parents: Mapping[Hashable, Any], context: Tensor | None = None
    ) -> Distribution:
        """Return the distribution of one variable given values of its parents, in the units of the data.

        Args:
            name: The variable.
            parents: A value or a tensor of values for each of its parents; they broadcast against each other.
            context: Context with the shape of the values and one more dimension, where the model has one.

        Examples:
            >>> import torch, weft
            >>> g = weft.Graph.from_edges([("age", "dose"), ("dose", "recovery"), ("age", "recovery")])
            >>> m = weft.StrNNDensity(g, kinds="gaussian")
            >>> m.conditional("recovery", {"age": torch.randn(7), "dose": 0.5}).sample().shape
            torch.Size([7])
        """
        column, needed = self.graph.index(name), self.graph.parents(name)
        if not isinstance(parents, Mapping) or set(parents) != set(needed):
            got = shorten(parents) if isinstance(parents, Mapping) else f"a {type(parents).__name__}"
            raise ValueError(
                f"parents has {got or 'nothing'}, expected a value for each parent of {show(name)}: "
                f"{{{', '.join(f'{show(each)}: …' for each in needed)}}}."
            )
        try:
            values = [torch.as_tensor(parents[each]).to(self.shift) for each in needed]
            values = list(torch.broadcast_tensors(*values)) if values else []  # type: ignore[no-untyped-call]
        except (TypeError, ValueError, RuntimeError) as error:
            raise ValueError(
                f"parents is {show(dict(parents))}, expected numbers, or tensors that broadcast against each other: "
                f"{error}"
            ) from error
        if any(bool(torch.isnan(value).any()) for value in values):
            raise ValueError(f"a value of the parents of {show(name)} is NaN, expected a value for each of them.")
        shape = values[0].shape if values else torch.Size()
        x = self.shift.expand(*shape, len(self.graph)).clone()
        for each, value in zip(needed, values, strict=True):
            x[..., self.graph.index(each)] = value
        self.check(x, context)
        flat = self.net(self.heads.encode((x - self.shift) / self.scale), context)
        head = self.heads.each[column]
        found = head.distribution(self.net.split(flat)[column])
        return _in_units(found, self.shift[column], self.scale[column]) if head.scaled else found

    def effective_graph(self) -> Graph:
        """Return the graph that the model really obeys: its own, less what ``made-random`` masks lost."""
        if not self.net.factorization.lost:
            return self.graph
        reached = self.net.jacobian_structure(sparse=True)
        return Graph.from_adjacency(reached, names=self.graph.nodes, orientation="row_is_child")

    def valid(self, x: Tensor) -> Tensor:
        """Tell for which values (…, d) the model has a density."""
        valid = self.heads.valid(x)
        return valid | torch.isnan(x) if self.missing == "factor" else valid

    def expected(self, column: int) -> str:
        """Say which values of a column are valid."""
        return self.heads.each[column].expected

    @property
    def standardized(self) -> bool:
        """Whether the units of the columns are settled, by `standardize_`."""
        return bool(self.settled)

    @torch.no_grad()
    def standardize_(self, train: Tensor | None) -> Self:
        """Take centre and spread of the continuous columns from training rows, and return the model.

        The network then works in standard units; densities and samples stay in the units of the data. None settles
        that the units stay as they are.

        Examples:
            >>> import torch, weft
            >>> m = weft.StrNNDensity(weft.graph.chain(2), kinds="gaussian")
            >>> m.standardize_(100 + 5 * torch.randn(1000, 2)).shift.round(decimals=-1)
            tensor([100., 100.])
        """
        if train is not None:
            self.check(train)
            rows = train.reshape(-1, len(self.graph)).to(self.shift)
            units = {  # of all columns before any is set: a refused table leaves the model as it was
                column: _centre_and_spread(rows[:, column], name)
                for column, (name, head) in enumerate(zip(self.graph.nodes, self.heads.each, strict=True))
                if head.scaled
            }
            for column, (shift, scale) in units.items():
                self.shift[column], self.scale[column] = shift, scale
        self.settled.fill_(value=True)
        return self

    def get_extra_state(self) -> Tensor:
        """Return the names and kinds of the columns, which go with the weights into the state dict."""
        columns = zip(self.graph.nodes, self.heads.each, strict=True)
        return torch.tensor(list("; ".join(f"{name}: {head!r}" for name, head in columns).encode()), dtype=torch.uint8)

    def set_extra_state(self, state: Tensor) -> None:
        """Refuse weights of a density with other columns, which could fit in number and mean something else."""
        if not torch.equal(state.cpu(), self.get_extra_state()):
            theirs, mine = (show(bytes(each.tolist()).decode(), 200) for each in (state, self.get_extra_state()))
            raise ValueError(f"these weights are of a density with the columns {theirs}, expected {mine}.")

    def extra_repr(self) -> str:
        """Show the graph and the kinds of its columns."""
        kinds = [head.name for head in self.heads.each]
        counted = shorten(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
        return f"{len(self.graph)} variables ({counted}), {self.graph.edges_count} edges, missing={self.missing!r}"

    def _heads_of(self, schedule: LevelSchedule) -> list[tuple[Tensor, Heads]]:
        """Return the columns and heads of each generation, made once on a device."""
        device = self.shift.device
        if device not in self._generations:
            self._generations[device] = [
                (torch.from_numpy(columns).to(device), Heads([self.heads.each[column] for column in columns], device))
                for columns in schedule.generations
            ]
        return self._generations[device]

    def _present(self, x: Tensor) -> Tensor:
        """Tell which variables are there with all their parents."""
        missing = torch.isnan(x)
        lacking = torch.zeros_like(x).index_add(-1, self._children, missing[..., self._parents].to(x.dtype))
        return ~missing & (lacking == 0)


def _in_units(found: Distribution, shift: Tensor, scale: Tensor) -> Distribution:
    """Return the distribution of shift + scale · z."""
    if isinstance(found, Normal):
        return Normal(found.loc * scale + shift, found.scale * scale)
    return TransformedDistribution(found, [AffineTransform(shift, scale)])


def _centre_and_spread(values: Tensor, name: Hashable) -> tuple[Tensor, Tensor]:
    """Return mean and standard deviation of the values that are there."""
    values = values[~torch.isnan(values)]
    if len(values) < 2:
        raise ValueError(f"column {show(name)} has {len(values)} values in the training rows, expected at least 2.")
    if values.min() == values.max():
        raise ValueError(
            f"column {show(name)} is constant in the training rows ({values[0].item():g}), expected values that "
            f"differ: a constant column has no density; leave it out."
        )
    centre, spread = values.mean(), values.std(correction=0)
    if not spread > 100 * torch.finfo(values.dtype).eps * centre.abs():
        raise ValueError(
            f"column {show(name)} has values around {centre.item():g} that differ by {spread.item():.1g}, too little "
            f"for {values.dtype}: subtract what they have in common, or make the model with dtype=torch.float64."
        )
    return centre, spread
