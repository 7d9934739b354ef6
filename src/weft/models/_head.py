"""What a head is: how one variable is distributed, given the parameters that a network makes of its parents."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor
from torch.distributions import Distribution
from torch.nn import functional

__all__ = ["Head", "bounded", "draw_between", "uniform"]


class Head(ABC):
    """The distribution of one variable given its parameters, a deterministic function of them and of noise.

    Heads are values: two that are equal are worked together, so every method takes m variables at once, ``x`` as
    (…, m) and ``theta`` as (…, m, parameters). Noise is (…, m, noise).

    The noise of a variable whose values are ordered is the logit of a number uniform on (0, 1): improbable values stay
    apart at both ends, where numbers close to one could not tell them from each other.

    Examples:
        >>> import torch
        >>> from weft.models import Ordinal
        >>> head, x = Ordinal(4), torch.tensor([0.0, 3.0, 2.0])
        >>> theta = torch.randn(3, head.parameters)
        >>> bool((head.generate(head.abduct(x, theta), theta) == x).all())
        True
    """

    name: ClassVar[str]
    """The kind of column, as a user writes it."""
    discrete: ClassVar[bool]
    scaled: ClassVar[bool] = False
    """Whether the variable is brought to zero mean and unit spread before it meets the network."""

    @property
    @abstractmethod
    def expected(self) -> str:
        """What values are valid, in words."""

    @property
    @abstractmethod
    def parameters(self) -> int:
        """Numbers that the network must give for the variable."""

    @property
    def features(self) -> int:
        """Columns by which the variable enters the network, as a parent."""
        return 1

    @property
    def noise(self) -> int:
        """Numbers of noise that generate one value."""
        return 1

    def encode(self, x: Tensor) -> Tensor:
        """Turn values (…, m) into what their children read, (…, m, features)."""
        return x.unsqueeze(-1)

    @abstractmethod
    def valid(self, x: Tensor) -> Tensor:
        """Tell which values the distribution is defined for."""

    @abstractmethod
    def log_prob(self, x: Tensor, theta: Tensor) -> Tensor:
        """Return the log-density, or log-probability, of valid values."""

    def draw(self, like: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Draw the noise of values of a shape: standard logistic, unless the head says otherwise."""
        return torch.logit(uniform((*like.shape, self.noise), like, generator))

    @abstractmethod
    def generate(self, noise: Tensor, theta: Tensor) -> Tensor:
        """Return the values that the noise stands for."""

    @abstractmethod
    def abduct(self, x: Tensor, theta: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Return noise that generates the values: the one, or a draw from all that do.

        Discrete values come back exactly, unless the noise that generates one is narrower than the spacing of its type.
        """

    @abstractmethod
    def distribution(self, theta: Tensor) -> Distribution:
        """Return the same as a torch distribution with batch shape (…, m)."""


def bounded(theta: Tensor, bound: float) -> Tensor:
    """Keep numbers within ±bound, smoothly and nearly unchanged around zero."""
    return bound * torch.tanh(theta / bound)


def uniform(shape: tuple[int, ...], like: Tensor, generator: torch.Generator | None) -> Tensor:
    """Draw from the open interval (0, 1)."""
    drawn = torch.rand(shape, generator=generator, device=like.device, dtype=like.dtype)
    # Draws are multiples of eps / 2; zero stands for what is below the first, so it becomes half of it.
    return drawn.clamp(min=torch.finfo(like.dtype).eps / 4)


def draw_between(low: Tensor, high: Tensor, share: Tensor) -> Tensor:
    """Draw standard logistic noise above ``low`` and up to ``high``, by shares that are uniform on (0, 1)."""
    # In the lower half a cumulative probability keeps its precision; the upper half is its mirror image.
    mirror = low + high > 0
    start, end = torch.where(mirror, -high, low), torch.where(mirror, -low, high)
    parts = torch.log1p(-share) + functional.logsigmoid(start), torch.log(share) + functional.logsigmoid(end)
    below = torch.logaddexp(*parts)
    noise = below - torch.log(-torch.expm1(below))
    noise = torch.where(mirror, -noise, noise).to(share.dtype)
    # Rounding must not carry the noise to another value, nor ends that come out a little different the next time.
    room = 64 * torch.finfo(low.dtype).eps
    least = torch.where(torch.isinf(low), low, low + torch.minimum((high - low) / 8, room * (1 + low.abs())))
    most = torch.where(torch.isinf(high), high, high - torch.minimum((high - low) / 8, room * (1 + high.abs())))
    least, most, infinity = least.to(share.dtype), most.to(share.dtype), torch.full_like(noise, torch.inf)
    least = torch.where(least <= low, torch.nextafter(least, infinity), least)
    most = torch.where(most > high, torch.nextafter(most, -infinity), most)
    return noise.clamp(min=least, max=most)
