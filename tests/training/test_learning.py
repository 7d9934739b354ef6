"""A fit learns: known densities, also from rows with gaps, and frequencies."""

import numpy as np
import torch

import weft
from weft import StrNNDensity
from weft.data import LinearGaussian

TRUTH = LinearGaussian(
    weft.Graph.from_edges([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("d", "e")]),
    weights=[[0, 0, 0, 0, 0], [1.5, 0, 0, 0, 0], [-1, 0, 0, 0, 0], [0, 0.7, 1.2, 0, 0], [0, 0, 0, -0.8, 0]],
    intercepts=[10.0, 0.0, -3.0, 5.0, 1.0],
    scales=[2.0, 0.5, 1.0, 0.3, 1.0],
)


def linear_density(**options):
    """Return a model of which the truth is one: means and log scales that are linear in the parents."""
    torch.manual_seed(0)
    return StrNNDensity(TRUTH.graph, "gaussian", (16,), "identity", dtype=torch.float64, **options)


def learn(model, x, epochs=60):
    return weft.fit(model, x, epochs=epochs, batch_size=128, lr=0.02, schedule="cosine", patience=None)


def test_it_learns_a_linear_gaussian_density():
    # The truth is in the family, with k = 20 parameters: of each variable a mean and a log scale, and of each of the
    # five edges a slope of both. By Wilks, 2n times the excess of the maximum is chi-squared with k degrees of freedom
    # for the n = 1600 rows that train; five standard deviations above its mean is 0.016 nats.
    n, k = 1600, 20
    model = linear_density()
    learn(model, TRUTH.sample(2000, seed=0).double())
    x = TRUTH.sample(20_000, seed=1).double()
    excess = (TRUTH.log_prob(x) - model.log_prob(x).detach()).double()
    error = excess.std().item() / len(x) ** 0.5
    assert -5 * error < excess.mean().item() < (k + 5 * (2 * k) ** 0.5) / (2 * n) + 5 * error


def test_values_that_are_missing_at_random_leave_the_parameters_as_they_are():
    n = 3000
    x = TRUTH.sample(n, seed=0).double()
    x[torch.rand(x.shape, generator=torch.Generator().manual_seed(0)) < 0.2] = torch.nan
    model = linear_density(missing="factor")
    learn(model, x)
    graph = TRUTH.graph
    for column, node in enumerate(graph.nodes):
        parents = graph.parents(node)
        middle = {each: TRUTH.mean[graph.index(each)] for each in parents}
        law = model.conditional(node, middle)
        scale, rows = TRUTH.scales[column], 0.8 * n * 0.8 ** (1 + len(parents))
        assert abs(law.mean.item() - TRUTH.mean[column].item()) < 5 * scale / rows**0.5
        assert abs(law.stddev.item() / scale - 1) < 5 / (2 * rows) ** 0.5
        precision = (
            np.linalg.inv(TRUTH.covariance[np.ix_(places, places)]) if (places := _places(graph, parents)) else []
        )
        for place, each in enumerate(parents):
            step = model.conditional(node, {**middle, each: middle[each] + 1}).mean - law.mean
            error = scale * (precision[place, place] / rows) ** 0.5
            assert abs(step.item() - TRUTH.weights[column, graph.index(each)]) < 5 * error


def _places(graph, nodes):
    return [graph.index(node) for node in nodes]


def test_it_learns_frequencies_in_single_precision():
    # A coin each: the maximum is the frequency of the rows, here to a fifth of its standard error.
    x = (torch.rand(400, 3, generator=torch.Generator().manual_seed(0)) < torch.tensor([0.1, 0.5, 0.8])).float()
    model = StrNNDensity(weft.Graph.from_edges([], nodes=list("abc")), "binary", (4,))
    weft.fit(model, x, None, epochs=150, batch_size=400, lr=0.1, schedule="cosine")
    found = torch.stack([model.conditional(node, {}).probs.squeeze() for node in "abc"])
    torch.testing.assert_close(found.detach(), x.mean(dim=0), rtol=0, atol=5e-3)
