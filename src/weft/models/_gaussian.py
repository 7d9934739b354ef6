"""The head of a continuous variable whose noise is Gaussian."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.distributions import Normal

from ._head import Head, bounded

__all__ = ["Gaussian"]


@dataclass(frozen=True)
class Gaussian(Head):
    """A normal variable; the network gives its mean and the logarithm of its scale.

    Examples:
        >>> import torch
        >>> from weft.models import Gaussian
        >>> Gaussian().log_prob(torch.zeros(5, 3), torch.zeros(5, 3, 2)).shape
        torch.Size([5, 3])
    """

    name = "gaussian"
    discrete = False
    scaled = True
    expected = "a finite number"
    parameters = 2

    def valid(self, x: Tensor) -> Tensor:
        """Accept finite numbers."""
        return torch.isfinite(x)

    def log_prob(self, x: Tensor, theta: Tensor) -> Tensor:
        """Return the log-density."""
        mean, log_scale = self._parts(theta)
        return -0.5 * ((x - mean) * torch.exp(-log_scale)).square() - log_scale - 0.5 * math.log(2 * math.pi)

    def draw(self, like: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Draw standard normal noise."""
        return torch.randn((*like.shape, 1), generator=generator, device=like.device, dtype=like.dtype)

    def generate(self, noise: Tensor, theta: Tensor) -> Tensor:
        """Return mean plus scale times noise."""
        mean, log_scale = self._parts(theta)
        return mean + torch.exp(log_scale) * noise.squeeze(-1)

    def abduct(self, x: Tensor, theta: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Return the one noise that generates the values."""
        mean, log_scale = self._parts(theta)
        return ((x - mean) * torch.exp(-log_scale)).unsqueeze(-1)

    def distribution(self, theta: Tensor) -> Normal:
        """Return the normal distribution."""
        mean, log_scale = self._parts(theta)
        return Normal(mean, torch.exp(log_scale))

    def _parts(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        return theta[..., 0], bounded(theta[..., 1], 7.0)
