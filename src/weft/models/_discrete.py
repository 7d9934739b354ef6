"""The heads of binary, nominal and ordinal variables."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.distributions import Bernoulli, Distribution
from torch.distributions import Categorical as TorchCategorical
from torch.nn import functional

from .._arguments import check_whole
from ._head import Head, draw_between, uniform

__all__ = ["Binary", "Categorical", "Ordinal"]


@dataclass(frozen=True)
class Binary(Head):
    """A variable that is 0 or 1; the network gives the logit of 1.

    Examples:
        >>> import torch
        >>> from weft.models import Binary
        >>> Binary().valid(torch.tensor([0.0, 1.0, 2.0])).tolist()
        [True, True, False]
    """

    name = "binary"
    discrete = True
    expected = "0 or 1"
    parameters = 1

    def valid(self, x: Tensor) -> Tensor:
        """Accept 0 and 1."""
        return (x == 0) | (x == 1)

    def log_prob(self, x: Tensor, theta: Tensor) -> Tensor:
        """Return the log-probability."""
        return -functional.binary_cross_entropy_with_logits(theta.squeeze(-1), x, reduction="none")

    def generate(self, noise: Tensor, theta: Tensor) -> Tensor:
        """Return 1 where the noise is above the logit of 0."""
        return (noise > -theta).to(theta.dtype).squeeze(-1)

    def abduct(self, x: Tensor, theta: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Draw from the noise that generates the values: uniform on their interval of cumulative probability."""
        one, infinity = x.unsqueeze(-1) > 0.5, torch.full_like(theta, torch.inf)
        low, high = torch.where(one, -theta, -infinity), torch.where(one, infinity, -theta)
        return draw_between(low, high, uniform(theta.shape, theta, generator))

    def distribution(self, theta: Tensor) -> Bernoulli:
        """Return the Bernoulli distribution."""
        return Bernoulli(logits=theta.squeeze(-1))


@dataclass(frozen=True)
class _Levels(Head):
    """A variable that is one of the whole numbers from 0 to levels − 1.

    Args:
        levels: Number of levels, at least 2.
    """

    levels: int
    discrete = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", check_whole("levels", self.levels, 2, error=ValueError))

    @property
    def expected(self) -> str:
        """What values are valid, in words."""
        return f"a whole number from 0 to {self.levels - 1}"

    def valid(self, x: Tensor) -> Tensor:
        """Accept the numbers of the levels."""
        return (x == x.round()) & (x >= 0) & (x < self.levels)

    def log_prob(self, x: Tensor, theta: Tensor) -> Tensor:
        """Return the log-probability."""
        return self._log_probs(theta).gather(-1, x.long().unsqueeze(-1)).squeeze(-1)

    def distribution(self, theta: Tensor) -> Distribution:
        """Return the categorical distribution."""
        return TorchCategorical(logits=self._log_probs(theta))

    @abstractmethod
    def _log_probs(self, theta: Tensor) -> Tensor:
        """Return the log-probability of every level."""


@dataclass(frozen=True)
class Categorical(_Levels):
    """A variable whose levels have no order; the network gives a logit for each, and children read it one-hot.

    Args:
        levels: Number of levels.

    Examples:
        >>> import torch
        >>> from weft.models import Categorical
        >>> Categorical(3).encode(torch.tensor([2.0])).tolist()
        [[0.0, 0.0, 1.0]]

    References:
        Oberst, Sontag. Counterfactual Off-Policy Evaluation with Gumbel-Max Structural Causal Models, 2019 (abduction).
    """

    name = "categorical"

    @property
    def parameters(self) -> int:
        """One logit per level."""
        return self.levels

    @property
    def features(self) -> int:
        """One column per level."""
        return self.levels

    @property
    def noise(self) -> int:
        """One Gumbel variable per level."""
        return self.levels

    def encode(self, x: Tensor) -> Tensor:
        """Write levels one-hot."""
        return self._is_level(x).to(x.dtype)

    def draw(self, like: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Draw standard Gumbel noise."""
        return -torch.log(-torch.log(uniform((*like.shape, self.levels), like, generator)))

    def generate(self, noise: Tensor, theta: Tensor) -> Tensor:
        """Return the level whose logit plus noise is largest."""
        return (theta + noise).argmax(dim=-1).to(theta.dtype)

    def abduct(self, x: Tensor, theta: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Draw from the Gumbel noise that generates the values."""
        # The largest of log-probability + noise is a Gumbel variable of its own; the others are Gumbel below it.
        logits = self._log_probs(theta)
        top = self.draw(theta[..., 0], generator)[..., :1]
        below = -torch.logaddexp(-self.draw(theta[..., 0], generator) - logits, -top)
        noise = torch.where(self._is_level(x), top, below) - logits
        # Rounding must not let another level win.
        reached = theta + noise
        won = reached.gather(-1, x.long().unsqueeze(-1))
        room = 4 * torch.finfo(theta.dtype).eps * torch.maximum(won.abs(), torch.maximum(theta.abs(), noise.abs()))
        return torch.where(self._is_level(x), noise, torch.minimum(noise, won - room - theta))

    def _is_level(self, x: Tensor) -> Tensor:
        return x.unsqueeze(-1) == torch.arange(self.levels, device=x.device, dtype=x.dtype)

    def _log_probs(self, theta: Tensor) -> Tensor:
        return torch.log_softmax(theta, dim=-1)


@dataclass(frozen=True)
class Ordinal(_Levels):
    """A variable whose levels have an order; the network gives falling logits of being above each level but the last.

    Children read it as one column for each level reached beyond the first.

    Args:
        levels: Number of levels.

    Examples:
        >>> import torch
        >>> from weft.models import Ordinal
        >>> Ordinal(4).encode(torch.tensor([2.0])).tolist()
        [[1.0, 1.0, 0.0]]
    """

    name = "ordinal"

    @property
    def parameters(self) -> int:
        """One logit for each level but the last."""
        return self.levels - 1

    @property
    def features(self) -> int:
        """One column for each level beyond the first."""
        return self.levels - 1

    def encode(self, x: Tensor) -> Tensor:
        """Mark every level that is reached."""
        return (x.unsqueeze(-1) > torch.arange(self.levels - 1, device=x.device, dtype=x.dtype)).to(x.dtype)

    def generate(self, noise: Tensor, theta: Tensor) -> Tensor:
        """Count the levels that the noise goes beyond."""
        return (noise > -self._above(theta)).to(theta.dtype).sum(dim=-1)

    def abduct(self, x: Tensor, theta: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Draw from the noise that generates the values: uniform on their interval of cumulative probability."""
        edge = torch.full_like(theta[..., :1], torch.inf)
        ends = torch.cat([-edge, -self._above(theta), edge], dim=-1)
        level = x.long().unsqueeze(-1)
        low, high = ends.gather(-1, level), ends.gather(-1, level + 1)
        return draw_between(low, high, uniform(low.shape, low, generator))

    def _above(self, theta: Tensor) -> Tensor:
        steps = torch.cat([theta[..., :1], -functional.softplus(theta[..., 1:])], dim=-1)
        return steps.cumsum(dim=-1)

    def _log_probs(self, theta: Tensor) -> Tensor:
        # P(level) = s(a) - s(b) = s(a) s(-b) (1 - exp(b - a)) with the logits a of reaching it and b of going beyond.
        # The last factor is the sigmoid of the parameter whose softplus is a - b, and one where a or b is infinite.
        above, sure = self._above(theta), torch.zeros_like(theta[..., :1])
        reach = torch.cat([sure, functional.logsigmoid(above)], dim=-1)
        stay = torch.cat([functional.logsigmoid(-above), sure], dim=-1)
        return reach + stay + torch.cat([sure, functional.logsigmoid(theta[..., 1:]), sure], dim=-1)
