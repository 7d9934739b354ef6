"""The heads of counts."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from scipy import special
from torch import Tensor
from torch.distributions import Distribution
from torch.distributions import NegativeBinomial as TorchNegativeBinomial
from torch.distributions import Poisson as TorchPoisson
from torch.nn import functional

from ._head import Head, bounded, draw_between, uniform

__all__ = ["NegativeBinomial", "Poisson"]

_SMALLEST = 1e-290  # below it a probability is known by its logarithm alone


class _Count(Head):
    """A whole number from 0; children read the logarithm of one more than it."""

    discrete = True
    expected = "a count: 0, 1, 2, …"

    def valid(self, x: Tensor) -> Tensor:
        """Accept whole numbers from 0."""
        return (x == x.round()) & (x >= 0) & torch.isfinite(x)

    def encode(self, x: Tensor) -> Tensor:
        """Compress the scale: counts may be large."""
        return torch.log1p(x).unsqueeze(-1)

    @torch.no_grad()
    def generate(self, noise: Tensor, theta: Tensor) -> Tensor:
        """Return the count at which the logit of the cumulative probability reaches the noise."""
        aim = noise.flatten().cpu().double()
        known = theta.flatten(0, -2).cpu().double()
        mean, spread = self._moments(known)
        start = mean + spread * torch.special.ndtri(torch.sigmoid(aim)).clamp(-8, 8)
        found = _first(lambda x, rows: self._logit_up_to(x, known[rows]) >= aim[rows], start, spread)
        return found.to(theta).reshape(theta.shape[:-1])

    @torch.no_grad()
    def abduct(self, x: Tensor, theta: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Draw from the noise that generates the values: uniform on their interval of cumulative probability."""
        share = uniform(x.shape, theta, generator).cpu()
        known, count = theta.cpu().double(), x.cpu().double()
        ends = self._logit_up_to(count - 1, known), self._logit_up_to(count, known)
        return draw_between(*ends, share).to(theta).unsqueeze(-1)

    def _logit_up_to(self, x: Tensor, theta: Tensor) -> Tensor:
        """Return the logit of the probability of at most x, for x from −1, with all its digits at both ends."""
        up_to, beyond = self._tails(x.clamp(min=0), theta)
        log_up_to, log_beyond = torch.log(up_to), torch.log(beyond)
        if bool((up_to < _SMALLEST).any()):
            log_up_to = torch.where(up_to < _SMALLEST, self._log_tail(x.clamp(min=0), theta, -1), log_up_to)
        if bool((beyond < _SMALLEST).any()):
            log_beyond = torch.where(beyond < _SMALLEST, self._log_tail(x.clamp(min=0) + 1, theta, 1), log_beyond)
        return torch.where(x < 0, -torch.inf, log_up_to - log_beyond)

    def _log_tail(self, x: Tensor, theta: Tensor, step: int) -> Tensor:
        # So far out the probabilities from x on, to one side, fall nearly like a geometric series.
        first = self.log_prob(x, theta)
        log_ratio = self.log_prob((x + step).clamp(min=0), theta) - first
        return first - torch.where(x + step < 0, 0, torch.log(-torch.expm1(log_ratio.clamp(max=-1e-12))))

    @abstractmethod
    def _moments(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and standard deviation."""

    @abstractmethod
    def _tails(self, x: Tensor, theta: Tensor) -> tuple[Tensor, Tensor]:
        """Return the probabilities of at most x and of more than x, for tensors of 64 bits on a CPU."""


@dataclass(frozen=True)
class Poisson(_Count):
    """A count whose variance is its mean; the network gives the logarithm of the mean, kept within ±20.

    Examples:
        >>> import torch
        >>> from weft.models import Poisson
        >>> Poisson().generate(torch.zeros(4, 2, 1), torch.zeros(4, 2, 1)).shape
        torch.Size([4, 2])
    """

    name = "poisson"
    parameters = 1

    def log_prob(self, x: Tensor, theta: Tensor) -> Tensor:
        """Return the log-probability."""
        # Against the probability at the mean x, which is close to 1 / √(2πx): large numbers would not cancel well.
        log_mean, some = self._log_mean(theta), x.clamp(min=1)
        best = -0.5 * torch.log(2 * math.pi * some) - _stirling(some)
        return torch.where(x > 0, best - some * _excess(log_mean - torch.log(some)), -torch.exp(log_mean))

    def distribution(self, theta: Tensor) -> Distribution:
        """Return the Poisson distribution."""
        return TorchPoisson(torch.exp(self._log_mean(theta)))

    def _moments(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        mean = torch.exp(self._log_mean(theta))
        return mean, mean.sqrt()

    def _tails(self, x: Tensor, theta: Tensor) -> tuple[Tensor, Tensor]:
        a, mean = (x + 1).numpy(), torch.exp(self._log_mean(theta)).numpy()
        return torch.as_tensor(special.gammaincc(a, mean)), torch.as_tensor(special.gammainc(a, mean))

    def _log_mean(self, theta: Tensor) -> Tensor:
        return bounded(theta[..., 0], 20.0)


@dataclass(frozen=True)
class NegativeBinomial(_Count):
    """A count whose variance exceeds its mean.

    The network gives the logarithms of the mean, kept within ±20, and of the dispersion, kept within ±10. With mean m
    and dispersion r the variance is m + m² / r.

    Examples:
        >>> import torch
        >>> from weft.models import NegativeBinomial
        >>> NegativeBinomial().log_prob(torch.ones(5, 3), torch.zeros(5, 3, 2)).shape
        torch.Size([5, 3])

    References:
        Loader. Fast and Accurate Computation of Binomial Probabilities, 2000 (the form of the log-probability).
    """

    name = "negative-binomial"
    parameters = 2

    def log_prob(self, x: Tensor, theta: Tensor) -> Tensor:
        """Return the log-probability."""
        log_mean, log_dispersion = self._parts(theta)
        dispersion, some = torch.exp(log_dispersion), x.clamp(min=1)
        # Against the probability at the best mean, which is x.
        total = some + dispersion
        off = torch.log(total) - torch.logaddexp(log_mean, log_dispersion)
        best = 0.5 * (log_dispersion - torch.log(2 * math.pi * total * some))
        best = best + _stirling(total) - _stirling(dispersion) - _stirling(some)
        excess = dispersion * _excess(off) + some * _excess(off + log_mean - torch.log(some))
        return torch.where(x > 0, best - excess, -dispersion * functional.softplus(log_mean - log_dispersion))

    def distribution(self, theta: Tensor) -> Distribution:
        """Return the negative binomial distribution."""
        log_mean, log_dispersion = self._parts(theta)
        return TorchNegativeBinomial(torch.exp(log_dispersion), logits=log_mean - log_dispersion)

    def _moments(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        mean, dispersion = map(torch.exp, self._parts(theta))
        return mean, (mean + mean.square() / dispersion).sqrt()

    def _tails(self, x: Tensor, theta: Tensor) -> tuple[Tensor, Tensor]:
        log_mean, log_dispersion = self._parts(theta)
        r, p, a = torch.exp(log_dispersion).numpy(), torch.sigmoid(log_dispersion - log_mean).numpy(), (x + 1).numpy()
        return torch.as_tensor(special.betainc(r, a, p)), torch.as_tensor(special.betaincc(r, a, p))

    def _parts(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        return bounded(theta[..., 0], 20.0), bounded(theta[..., 1], 10.0)


def _excess(u: Tensor) -> Tensor:
    """Return exp(u) − 1 − u, which is never negative."""
    return torch.expm1(u) - u


def _stirling(x: Tensor) -> Tensor:
    """Return what Stirling's formula lacks of log Γ(x + 1)."""
    small, large = x.clamp(max=16), x.clamp(min=16)
    exact = torch.lgamma(small + 1) - (small + 0.5) * torch.log(small) + small - 0.5 * math.log(2 * math.pi)
    inverse = 1 / large.square()
    series = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / large
    return torch.where(x < 16, exact, series)


def _first(reached: Callable[[Tensor, Tensor], Tensor], start: Tensor, spread: Tensor) -> Tensor:
    """Return the least whole numbers from 0 that have reached something, searching from a start by a spread.

    Only rows still open are asked, as ``reached(x, rows)``.
    """
    step = (0.25 * spread).floor().clamp(min=1)
    high = start.round().clamp(min=0)
    low = (high - step).clamp(min=-1)
    upward, downward = (rows := torch.arange(len(start))), rows
    while len(upward):
        upward = upward[torch.isfinite(high[upward])]  # not where the parameters or the noise are not numbers
        upward = upward[~reached(high[upward], upward)]
        low[upward], high[upward], step[upward] = high[upward], high[upward] + step[upward], 2 * step[upward]
    while len(downward):
        downward = downward[low[downward] >= 0]
        downward = downward[reached(low[downward], downward)]
        high[downward], low[downward] = low[downward], (low[downward] - step[downward]).clamp(min=-1)
        step[downward] *= 2
    while len(rows):
        middle = ((low + high) / 2).floor()
        rows = rows[((low < middle) & (middle < high))[rows]]
        up = reached(middle[rows], rows)
        high[rows[up]], low[rows[~up]] = middle[rows[up]], middle[rows[~up]]
    return high
