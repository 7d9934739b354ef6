"""What every head promises, over all of them."""

import copy
import pickle

import numpy as np
import pytest
import torch
from torch.func import grad, vmap

from weft.models import Binary, Categorical, Gaussian, Head, NegativeBinomial, Ordinal, Poisson

from .cases import (
    CONTINUOUS,
    COUNTS,
    DISCRETE,
    DTYPES,
    HEADS,
    LEVELS,
    REJECT,
    VALID,
    draw,
    extremes,
    fits,
    generator,
    noise_fits,
    parameters,
    support,
)

N = 20_000
"""Draws of a statistical test. At the level `REJECT` Kolmogorov and Smirnov's test then sees a cumulative distribution
that is off by 0.03 with a power above 0.99, and chi-square with five bins a probability of 0.2 that is off by 0.02 with
one above 0.95."""


def over(heads):
    return pytest.mark.parametrize("head", heads.values(), ids=heads)


# Densities


@over(HEADS)
@pytest.mark.parametrize("spread", [1.0, 3.0])
def test_log_prob_is_that_of_the_distribution(head, spread):
    theta = parameters(head, 40, 7, spread=spread)
    x = draw(head, theta)
    expected = head.distribution(theta).log_prob(x)
    assert head.distribution(theta).batch_shape == x.shape
    torch.testing.assert_close(head.log_prob(x, theta), expected, rtol=1e-9, atol=1e-9)


@over(DISCRETE)
def test_probabilities_sum_to_one(head):
    theta = parameters(head, 30)
    values = support(head)[:, None].expand(-1, 30)
    total = head.log_prob(values, theta.expand(len(values), -1, -1)).logsumexp(0)
    torch.testing.assert_close(total, torch.zeros(30, dtype=torch.float64), rtol=0, atol=1e-9)


@over(CONTINUOUS)
def test_densities_integrate_to_one(head):
    theta = parameters(head, 30)
    mean, spread = head.distribution(theta).mean, head.distribution(theta).stddev
    x = mean + spread * torch.linspace(-12, 12, 4001, dtype=torch.float64)[:, None]
    total = torch.trapezoid(head.log_prob(x, theta.expand(len(x), -1, -1)).exp(), x, dim=0)
    torch.testing.assert_close(total, torch.ones_like(total), rtol=0, atol=1e-9)


@over(LEVELS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_extreme_parameters_still_sum_to_one(head, dtype):
    theta = extremes(head, dtype)
    values = support(head).to(dtype)[:, None].expand(-1, len(theta))
    terms = head.log_prob(values, theta.expand(len(values), -1, -1))
    assert bool(torch.isfinite(terms).all())
    torch.testing.assert_close(terms.logsumexp(0), torch.zeros(len(theta), dtype=dtype), rtol=0, atol=1e-6)


@over(COUNTS)
def test_counts_are_precise_where_stirlings_series_begins(head):
    x = torch.arange(40, dtype=torch.float64)
    theta = torch.tensor([3.0, 2.8][: head.parameters], dtype=torch.float64).expand(40, -1)
    torch.testing.assert_close(head.log_prob(x, theta), head.distribution(theta).log_prob(x), rtol=0, atol=1e-12)


def test_the_odds_of_ordinal_levels():
    """The logit of going beyond each level is the one before, less a softplus."""
    theta = parameters(Ordinal(5), 20, spread=2.0)
    probabilities = Ordinal(5).log_prob(support(Ordinal(5)).expand(20, -1), theta[:, None].expand(-1, 5, -1)).exp()
    beyond = 1 - probabilities.cumsum(-1)[:, :-1]
    falls = torch.cat([theta[:, :1], -torch.log1p(torch.exp(theta[:, 1:]))], dim=-1)
    torch.testing.assert_close(beyond, torch.sigmoid(falls.cumsum(-1)), rtol=0, atol=1e-12)


@over(COUNTS)
def test_large_counts_are_precise_in_32_bits(head):
    x = torch.tensor([10.0, 1e3, 1e5, 1e6], dtype=torch.float64)
    near = 20 * torch.atanh(torch.log(x * (1 + 1 / x.sqrt())) / 20)  # where the mean is one standard deviation off
    theta = torch.stack([near, *[torch.linspace(-9, 9, 4, dtype=torch.float64)] * (head.parameters - 1)], dim=-1)
    precise = head.distribution(theta).log_prob(x)
    torch.testing.assert_close(head.log_prob(x.float(), theta.float()).double(), precise, rtol=1e-4, atol=5e-3)


@over(HEADS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_extremes_have_finite_terms_and_gradients(head, dtype):
    values = support(head) if head.name not in ("poisson", "negative-binomial") else torch.tensor([0, 1, 30, 1e6])
    values = torch.tensor([0, -50, 1e6]) if not head.discrete else values
    theta = extremes(head, dtype).requires_grad_()
    for value in values.tolist():
        terms = head.log_prob(torch.full((len(theta),), value, dtype=dtype), theta)
        (slope,) = torch.autograd.grad(terms.sum(), theta)
        assert bool(torch.isfinite(terms).all()), value
        assert bool(torch.isfinite(slope).all()), value


@over(HEADS)
def test_gradients(head):
    theta = parameters(head, 12, 3, spread=2.0).requires_grad_()
    x = draw(head, theta.detach())
    assert torch.autograd.gradcheck(lambda theta: head.log_prob(x, theta), theta)


@over(CONTINUOUS)
def test_gradients_pass_through_values_and_noise(head):
    theta, x = parameters(head, 5, 3).requires_grad_(), torch.randn(5, 3, dtype=torch.float64).requires_grad_()
    noise = head.draw(x, generator(1)).requires_grad_()
    assert torch.autograd.gradcheck(head.log_prob, (x, theta))
    assert torch.autograd.gradcheck(head.generate, (noise, theta))
    assert torch.autograd.gradcheck(head.abduct, (x, theta))


@over(HEADS)
def test_vmap_and_grad_of_functions(head):
    theta = parameters(head, 6, 4)
    x = draw(head, theta)
    terms = head.log_prob(x, theta)
    torch.testing.assert_close(vmap(head.log_prob)(x, theta), terms)
    wanted = theta.clone().requires_grad_()
    (slope,) = torch.autograd.grad(head.log_prob(x, wanted).sum(), wanted)
    of_rows = vmap(grad(lambda theta, x: head.log_prob(x, theta).sum()))(theta, x)
    torch.testing.assert_close(of_rows, slope)


@over(HEADS)
def test_a_row_of_an_ensemble(head):
    """One table, several networks: parameters with a dimension that the values do not have."""
    theta = parameters(head, 3, 6, 4)
    x = draw(head, theta[0])
    terms = vmap(head.log_prob, in_dims=(None, 0))(x, theta)
    torch.testing.assert_close(terms, torch.stack([head.log_prob(x, each) for each in theta]))


# Generation and abduction


@over(HEADS)
@pytest.mark.parametrize("seed", [0, 1])
def test_draws_have_the_distribution(head, seed):
    theta = parameters(head, seed=seed)
    x = draw(head, theta.expand(N, -1), seed=seed)
    assert fits(head, x, theta) > REJECT
    off = theta.clone()
    off[0] += 0.2
    assert fits(head, x, off) < REJECT, "the test sees no difference that it should"


@over(COUNTS)
@pytest.mark.parametrize("log_mean", [-4.0, 0.0, 3.0, 12.0, 50.0])
def test_draws_of_any_mean_have_its_moments(head, log_mean):
    """Within five standard errors; a mean that is off by 10% of the spread is seen with a power of 0.98."""
    n = 5000
    theta = torch.tensor([log_mean, 0.5][: head.parameters], dtype=torch.float64)
    law = head.distribution(theta)
    x = draw(head, theta.expand(n, -1), seed=3)
    assert abs(x.mean() - law.mean) < 5 * law.stddev / n**0.5


@over(DISCRETE)
@pytest.mark.parametrize("spread", [1.0, 4.0])
def test_discrete_values_come_back_exactly(head, spread):
    theta = parameters(head, 500, 8, spread=spread)
    for x in (draw(head, theta), draw(head, theta.flip(0)), draw(head, theta).clamp(max=0)):
        for seed in range(3):
            noise = head.abduct(x, theta, generator(seed))
            assert noise.shape == (*x.shape, head.noise)
            assert noise.dtype == theta.dtype
            assert torch.equal(head.generate(noise, theta), x)


@over(LEVELS)
def test_they_come_back_exactly_in_32_bits(head):
    theta = parameters(head, N, 3, spread=2.0, dtype=torch.float32)
    x = draw(head, theta)
    assert torch.equal(head.generate(head.abduct(x, theta, generator(1)), theta), x)


@over({"binary": Binary(), "categorical of 5": Categorical(5), "ordinal of 2": Ordinal(2)})
@pytest.mark.parametrize("dtype", DTYPES)
def test_improbable_levels_come_back_exactly(head, dtype):
    theta = extremes(head, dtype)
    for value in support(head).tolist():
        x = torch.full((len(theta),), value, dtype=dtype)
        for seed in range(5):
            noise = head.abduct(x, theta, generator(seed))
            assert bool(torch.isfinite(noise).all())
            assert torch.equal(head.generate(noise, theta), x)


def test_levels_of_narrow_intervals_come_back_exactly():
    """In 32 bits a few numbers lie between the ends: rounding must not leave them."""
    theta = torch.stack([torch.linspace(-9, 9, N), torch.full((N,), -12.0)], dim=-1)
    x = torch.ones(N)
    assert torch.equal(Ordinal(3).generate(Ordinal(3).abduct(x, theta, generator(0)), theta), x)


def test_nearly_equal_levels_come_back_exactly():
    """A common offset of the logits says nothing, but in 32 bits it rounds them and their noise."""
    theta = 1e4 + parameters(Categorical(5), N, dtype=torch.float32)
    x = draw(Categorical(5), theta)
    assert torch.equal(Categorical(5).generate(Categorical(5).abduct(x, theta, generator(1)), theta), x)


@over(DISCRETE)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("end", [0.0, 1.0])
def test_the_ends_of_the_generator(head, dtype, end, monkeypatch):
    """What it returns once in millions of draws: zero, and the number before one."""
    share = min(end, 1 - torch.finfo(dtype).eps / 2)
    monkeypatch.setattr(torch, "rand", lambda shape, dtype, **_: torch.full(shape, share, dtype=dtype))
    theta = parameters(head, 200, dtype=dtype)
    noise = head.draw(theta[..., 0])
    x = head.generate(noise, theta)
    abducted = head.abduct(x, theta)
    assert bool(torch.isfinite(noise).all())
    assert bool(torch.isfinite(abducted).all())
    assert bool(head.valid(x).all())
    assert torch.equal(head.generate(abducted, theta), x)
    # Where a row stands changes the last digits of what is computed for it, and nothing else.
    assert torch.equal(head.generate(abducted[5:].flip(0), theta[5:].flip(0)), x[5:].flip(0))


@over(COUNTS)
def test_improbable_counts_come_back_exactly(head):
    theta = torch.cartesian_prod(*[torch.tensor([-50.0, -5, 0, 5, 50], dtype=torch.float64)] * head.parameters)
    theta = theta.reshape(-1, head.parameters)
    for value in (0.0, 1.0, 20.0, 500.0, 1e4, 1e6):
        x = torch.full((len(theta),), value, dtype=torch.float64)
        noise = head.abduct(x, theta, generator(0))
        assert bool(torch.isfinite(noise).all())
        assert torch.equal(head.generate(noise, theta), x)


@over(COUNTS)
def test_moderate_counts_come_back_exactly_in_32_bits(head):
    theta = parameters(head, N, 2, spread=2.0, dtype=torch.float32)
    x = draw(head, theta).clamp(max=10_000)
    assert torch.equal(head.generate(head.abduct(x, theta, generator(1)), theta), x)


@over(COUNTS)
@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
def test_counts_of_what_is_no_number_end(head, bad):
    theta = torch.zeros(2, head.parameters, dtype=torch.float64)
    noise = torch.tensor([[bad], [0.0]], dtype=torch.float64)
    x = head.generate(noise, theta)
    assert torch.isfinite(x).tolist() == [False, True]
    theta[0] = torch.nan
    assert torch.isnan(head.generate(torch.zeros_like(noise), theta)).tolist() == [True, False]


@over(CONTINUOUS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_continuous_values_come_back_to_rounding(head, dtype):
    theta = parameters(head, 500, 8, spread=2.0, dtype=dtype)
    x = draw(head, theta)
    noise = head.abduct(x, theta)
    back = head.generate(noise, theta)
    room = 8 * torch.finfo(dtype).eps * (x.abs() + theta[..., 0].abs())
    assert bool(((back - x).abs() <= room).all())
    assert torch.equal(noise, head.abduct(x, theta, generator(5))), "there is only one"


@over(HEADS)
@pytest.mark.parametrize("spread", [0.0, 1.5])
def test_abducted_noise_is_distributed_as_drawn(head, spread):
    theta = parameters(head, N, seed=4, spread=spread) + parameters(head, seed=5)
    x = draw(head, theta, seed=6)
    noise = head.abduct(x, theta, generator(7))
    assert noise_fits(head, noise) > REJECT
    if spread:  # and it does not depend on the parameters
        assert noise_fits(head, noise[theta[:, 0] > theta[:, 0].median()]) > REJECT
    assert noise_fits(head, 1.15 * noise + 0.05) < REJECT, "the test sees no difference that it should"


@over(HEADS)
def test_drawn_noise_is_distributed_as_said(head):
    assert noise_fits(head, head.draw(torch.zeros(N, dtype=torch.float64), generator(8))) > REJECT


@over({name: head for name, head in HEADS.items() if head.name != "categorical"})
def test_ordered_values_rise_with_their_noise(head):
    noise = torch.linspace(-30, 30, 500, dtype=torch.float64)[:, None]
    x = head.generate(noise, parameters(head).expand(500, -1))
    assert bool((x.diff() >= 0).all())


@over(HEADS)
def test_the_seed_decides(head):
    theta = parameters(head, 50, 4)
    x = draw(head, theta, seed=1)
    assert torch.equal(x, draw(head, theta, seed=1))
    assert torch.equal(head.abduct(x, theta, generator(2)), head.abduct(x, theta, generator(2)))
    assert not torch.equal(head.draw(x, generator(2)), head.draw(x, generator(3)))


# Shapes, types, values


@over(HEADS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1,), (3,), (0,), (5, 3), (0, 3), (5, 0), (2, 4, 3)], ids=str)
def test_shapes_and_types(head, shape, dtype):
    theta = parameters(head, *shape, dtype=dtype)
    noise = head.draw(theta[..., 0], generator(0))
    x = head.generate(noise, theta)
    found = {
        "noise": (noise, (*shape, head.noise)),
        "x": (x, shape),
        "log_prob": (head.log_prob(x, theta), shape),
        "encode": (head.encode(x), (*shape, head.features)),
        "abduct": (head.abduct(x, theta), (*shape, head.noise)),
    }
    assert {name: (tuple(tensor.shape), tensor.dtype) for name, (tensor, _) in found.items()} == {
        name: (expected, dtype) for name, (_, expected) in found.items()
    }
    assert head.valid(x).dtype == torch.bool
    assert bool(head.valid(x).all())


@pytest.mark.parametrize("name", HEADS)
def test_valid(name):
    good, bad = VALID[name]
    assert all(HEADS[name].valid(torch.tensor(good, dtype=torch.float64)))
    assert not any(HEADS[name].valid(torch.tensor([*bad, torch.nan, torch.inf, -torch.inf])))
    assert HEADS[name].expected


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (Binary(), [[0], [1]]),
        (Gaussian(), [[0], [1]]),
        (Poisson(), [[0], [np.log(2)]]),
        (NegativeBinomial(), [[0], [np.log(2)]]),
        (Categorical(3), [[1, 0, 0], [0, 1, 0], [0, 0, 1]]),
        (Ordinal(3), [[0, 0], [1, 0], [1, 1]]),
    ],
    ids=lambda case: getattr(case, "name", ""),
)
def test_encode(head, expected):
    expected = torch.tensor(expected, dtype=torch.float64)
    torch.testing.assert_close(head.encode(torch.arange(len(expected), dtype=torch.float64)), expected)


@over(HEADS)
def test_heads_are_values(head):
    twin = copy.deepcopy(head)
    assert pickle.loads(pickle.dumps(head)) == head == twin
    assert hash(head) == hash(twin)
    assert sum(head == other for other in HEADS.values()) == 1


@pytest.mark.parametrize("head", [Categorical, Ordinal])
@pytest.mark.parametrize("levels", [1, 0, -3, True, 2.5, "3", None])
def test_levels_that_are_none(head, levels):
    with pytest.raises(ValueError, match=r"levels is .*, expected a whole number of at least 2"):
        head(levels)


def test_levels_of_numpy():
    assert Categorical(np.int64(3)) == Categorical(3)
    assert type(Categorical(np.int64(3)).levels) is int


def test_a_head_of_ones_own():
    """What a subclass must say is what the abstract class lists."""
    with pytest.raises(TypeError, match=r"abduct.*distribution.*expected.*generate.*log_prob.*parameters.*valid"):
        type("Nothing", (Head,), {})()
