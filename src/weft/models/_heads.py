"""The heads of a whole table: equal ones are worked together."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from .._errors import shorten, show, suggest
from ..nn._fixed import Fixed
from ._counts import NegativeBinomial, Poisson
from ._discrete import Binary, Categorical, Ordinal
from ._gaussian import Gaussian
from ._head import Head

__all__ = ["KINDS", "Heads", "read_kinds"]

_PLAIN: tuple[Head, ...] = (Binary(), Gaussian(), Poisson(), NegativeBinomial())

KINDS = {head.name: head for head in _PLAIN} | {"count": Poisson()}
"""The heads that need nothing but their name."""

_NEED_LEVELS = {head.name: head for head in (Categorical, Ordinal)}


def read_kinds(kinds: Any, names: Sequence[Hashable]) -> tuple[Head, ...]:
    """Read one kind for all variables, or a mapping with one for each, into heads in the order of the names.

    Args:
        kinds: A word of `KINDS` or a head; or a mapping from every name to such.
        names: The variables.

    Raises:
        ValueError: If a kind is not known, or the mapping has other names.

    Examples:
        >>> from weft.models import Ordinal, read_kinds
        >>> read_kinds({"stage": Ordinal(4), "age": "gaussian"}, ["age", "stage"])
        (Gaussian(), Ordinal(levels=4))
    """
    if not isinstance(kinds, Mapping):
        return (_read_kind(kinds, None),) * len(names)
    known = set(names)
    for name in kinds:
        if name not in known:
            raise ValueError(f"kinds names {show(name)}, which is not a variable{suggest(name, names)}.")
    missing = [name for name in names if name not in kinds]
    if missing:
        raise ValueError(f"kinds says nothing of {shorten(missing)}; expected a kind for every variable.")
    return tuple(_read_kind(kinds[name], name) for name in names)


def _read_kind(kind: Any, name: Hashable) -> Head:
    if isinstance(kind, Head):
        return kind
    of = "" if name is None else f" of {show(name)}"
    if isinstance(kind, str) and kind in KINDS:
        return KINDS[kind]
    if isinstance(kind, str) and kind in _NEED_LEVELS:
        made = f"weft.models.{_NEED_LEVELS[kind].__name__}(levels=3)"
        raise ValueError(f"the kind{of} is {kind!r}, which needs its number of levels: pass {made}.")
    made = f" (a class: pass {kind.__name__}(…))" if isinstance(kind, type) and issubclass(kind, Head) else ""
    raise ValueError(
        f"the kind{of} is {show(kind)}{made or suggest(kind, [*KINDS, *_NEED_LEVELS])}; expected one of "
        f"{shorten(KINDS)}, weft.models.Categorical(levels=3), weft.models.Ordinal(levels=3); or a mapping to such."
    )


class Heads(nn.Module):
    """The heads of some variables, those that are equal worked together.

    Values come as (…, m), parameters flat as (…, total), the variables one after another.

    Args:
        heads: One per variable.
        device: Where the indices live.

    Examples:
        >>> import torch
        >>> from weft.models import Binary, Categorical, Heads
        >>> heads = Heads([Binary(), Categorical(3), Binary()])
        >>> x = heads.sample(torch.zeros(10, 5))
        >>> heads.log_prob(x, torch.zeros(10, 5)).shape, heads.encode(x).shape
        (torch.Size([10, 3]), torch.Size([10, 5]))
    """

    def __init__(self, heads: Sequence[Head], device: torch.device | str | None = None) -> None:
        super().__init__()
        self.each = tuple(heads)
        places: dict[Head, list[int]] = {}
        for place, head in enumerate(heads):
            places.setdefault(head, []).append(place)
        spans = [_spans(sizes) for sizes in ([h.parameters for h in heads], [h.features for h in heads])]
        alone = len(places) <= 1
        groups = [_Group(head, None if alone else where, spans[0], device) for head, where in places.items()]
        self.groups = cast("Sequence[_Group]", nn.ModuleList(groups))
        order = [place for where in places.values() for place in where]
        self._values = _Order(order, device)
        self._features = _Order([column for place in order for column in spans[1][place]], device)

    def log_prob(self, x: Tensor, flat: Tensor) -> Tensor:
        """Return the log-density of every variable, (…, m)."""
        return self._values.join([g.head.log_prob(g.values(x), g.theta(flat)) for g in self.groups], x)

    def encode(self, x: Tensor) -> Tensor:
        """Return what children read, (…, features), the variables one after another."""
        return self._features.join([g.head.encode(g.values(x)).flatten(-2) for g in self.groups], x)

    def valid(self, x: Tensor) -> Tensor:
        """Tell which values their heads are defined for, (…, m)."""
        return self._values.join([g.head.valid(g.values(x)) for g in self.groups], x.bool())

    def sample(self, flat: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Draw a value of every variable, (…, m)."""
        drawn = []
        for group in self.groups:
            theta = group.theta(flat)
            drawn.append(group.head.generate(group.head.draw(theta[..., 0], generator), theta))
        return self._values.join(drawn, flat)


class _Group(Fixed):
    """Variables with one head, and where their values and parameters stand; nowhere in particular if they are all."""

    def __init__(
        self, head: Head, where: list[int] | None, spans: list[range], device: torch.device | str | None
    ) -> None:
        super().__init__()
        self.head = head
        columns = None if where is None else [column for place in where for column in spans[place]]
        self._where: Tensor | None
        self._columns: Tensor | None
        for name, places in [("_where", where), ("_columns", columns)]:
            self.fix(name, None if places is None else np.array(places, dtype=np.int64), device)

    def extra_repr(self) -> str:
        """Show the head."""
        return repr(self.head)

    def values(self, x: Tensor) -> Tensor:
        """Return the values of these variables."""
        return x if self._where is None else x.index_select(-1, self._where)

    def theta(self, flat: Tensor) -> Tensor:
        """Return the parameters of these variables, (…, m, parameters)."""
        found = flat if self._columns is None else flat.index_select(-1, self._columns)
        size = self.head.parameters
        return found.reshape(*found.shape[:-1], found.shape[-1] // size, size)


class _Order(Fixed):
    """Where the columns belong that the groups give one after another."""

    def __init__(self, order: list[int], device: torch.device | str | None) -> None:
        super().__init__()
        self._places: Tensor | None
        self.fix("_places", None if order == list(range(len(order))) else np.argsort(order), device)

    def join(self, pieces: Sequence[Tensor], like: Tensor) -> Tensor:
        """Return the columns of all groups in their own order; none like those of ``like`` if there is no group."""
        if not pieces:
            return like[..., :0]
        joined = pieces[0] if len(pieces) == 1 else torch.cat(list(pieces), dim=-1)
        return joined if self._places is None else joined.index_select(-1, self._places)


def _spans(sizes: Sequence[int]) -> list[range]:
    return [range(start, end) for start, end in pairwise(accumulate(sizes, initial=0))]
