"""The heads that every promise of the room is tested over, and what the tests ask of each."""

import torch
from scipy import stats

from weft.models import Binary, Categorical, Gaussian, NegativeBinomial, Ordinal, Poisson

HEADS = {
    "binary": Binary(),
    "gaussian": Gaussian(),
    "categorical of 2": Categorical(2),
    "categorical of 5": Categorical(5),
    "ordinal of 2": Ordinal(2),
    "ordinal of 5": Ordinal(5),
    "poisson": Poisson(),
    "negative binomial": NegativeBinomial(),
}

COUNTS = {name: head for name, head in HEADS.items() if isinstance(head, Poisson | NegativeBinomial)}
DISCRETE = {name: head for name, head in HEADS.items() if head.discrete}
LEVELS = {name: head for name, head in DISCRETE.items() if name not in COUNTS}
CONTINUOUS = {name: head for name, head in HEADS.items() if not head.discrete}

DTYPES = (torch.float32, torch.float64)

VALID = {
    "binary": ([0, 1], [-1, 2, 0.5]),
    "gaussian": ([0, -3.5, 1e6], []),
    "categorical of 2": ([0, 1], [-1, 2, 0.5]),
    "categorical of 5": ([0, 1, 2, 3, 4], [-1, 5, 2.5]),
    "ordinal of 2": ([0, 1], [-1, 2, 0.5]),
    "ordinal of 5": ([0, 1, 2, 3, 4], [-1, 5, 2.5]),
    "poisson": ([0, 1, 1_000_000], [-1, 0.5]),
    "negative binomial": ([0, 1, 1_000_000], [-1, 0.5]),
}
"""Values that a head is defined for, and values that it is not; never infinity or NaN."""

REJECT = 1e-4
"""Statistical tests reject at this level: a true null fails once in ten thousand seeds, and the seeds are fixed."""


def generator(seed):
    """Return a random generator."""
    return torch.Generator().manual_seed(seed)


def parameters(head, *shape, seed=0, spread=1.0, dtype=torch.float64):
    """Draw parameters for values of a shape."""
    return spread * torch.randn(*shape, head.parameters, generator=generator(seed), dtype=torch.float64).to(dtype)


def draw(head, theta, seed=0):
    """Draw values from a head."""
    return head.generate(head.draw(theta[..., 0], generator(seed)), theta)


def support(head):
    """Return all values of a head with few of them, and counts up to where nothing is left for small means."""
    levels = {"binary": 2, "categorical": getattr(head, "levels", 0), "ordinal": getattr(head, "levels", 0)}
    return torch.arange(levels.get(head.name, 4000), dtype=torch.float64)


def extremes(head, dtype=torch.float64, size=50.0):
    """Return all parameters of which each is ±size or 0, one row for each."""
    ends = torch.tensor([-size, 0.0, size], dtype=dtype)
    return torch.cartesian_prod(*[ends] * head.parameters).reshape(-1, head.parameters)


def fits(head, x, theta):
    """Return the p-value of values drawn from the same parameters, by chi-square or Kolmogorov and Smirnov."""
    if not head.discrete:
        return stats.kstest(x.numpy(), lambda at: head.distribution(theta).cdf(torch.as_tensor(at)).numpy()).pvalue
    values = support(head)
    expected = len(x) * head.log_prob(values, theta.expand(len(values), -1)).exp()
    seen = torch.bincount(x.long(), minlength=len(values)).double()
    common = expected >= 10
    expected, seen = (
        torch.cat([part[common], len(x) - part[common].sum(0, keepdim=True)]) for part in (expected, seen)
    )
    kept = expected > 1e-6
    assert bool((seen[~kept] == 0).all())
    return stats.chi2.sf(((seen - expected).square() / expected)[kept].sum().item(), int(kept.sum()) - 1)


def noise_fits(head, noise):
    """Return the least p-value of noise (n, size) that is distributed as `draw` says."""
    law = {"gaussian": stats.norm, "categorical": stats.gumbel_r}.get(head.name, stats.logistic)
    columns = law.cdf(noise.numpy())
    found = [stats.kstest(column, "uniform").pvalue for column in columns.T]
    size = columns.shape[1]
    if size > 1:  # independent of each other: the largest and the smallest, and every pair
        found += [stats.kstest(columns.max(axis=1) ** size, "uniform").pvalue]
        found += [stats.kstest(1 - (1 - columns.min(axis=1)) ** size, "uniform").pvalue]
        found += [stats.pearsonr(columns[:, i], columns[:, j]).pvalue for i in range(size) for j in range(i)]
    return min(found)
