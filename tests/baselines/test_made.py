"""MADE: every variable after all before it, in the order of a graph whose edges it does not know."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
import torch
from torch.func import jacrev, vmap

import weft
from weft import StrNNDensity
from weft.baselines import MADE
from weft.masks import Made
from weft.models import Categorical

ORDERS = {
    "chain": weft.graph.chain(5),
    "from 0 up": weft.graph.full(5),
    "children first": weft.Graph.from_edges([("c", "b"), ("b", "a"), ("d", "a")], nodes=list("abcd")),
    "no edges": weft.Graph.from_edges([], nodes=["z", "a", "m"]),
    "mixed": weft.Graph.from_edges([(3, 0), (0, 4), (4, 1), (3, 2)], nodes=range(5)),
}


@pytest.fixture(params=ORDERS)
def graph(request):
    return ORDERS[request.param]


def jacobian(model, rows=20):
    """Return which terms depend on which columns, measured."""
    x = torch.randn(rows, len(model.graph), dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    return vmap(jacrev(model))(x).abs().amax(dim=0).detach().numpy() > 0


def made(graph, kinds="gaussian", hidden=(40, 40), **options):
    torch.manual_seed(0)
    return MADE(graph, kinds, hidden, "tanh", dtype=torch.float64, **options)


def test_every_variable_depends_on_all_before_it_in_the_order_of_the_graph(graph):
    model = made(graph)
    assert model.graph.nodes == graph.nodes  # the columns stay where they are
    assert model.graph.order == graph.order
    assert set(model.graph.edges) == set(combinations(graph.order, 2))
    assert set(graph.edges) <= set(model.graph.edges)
    places = [graph.order.index(node) for node in graph.nodes]
    expected = np.greater_equal.outer(places, places)
    assert np.array_equal(jacobian(model), expected)
    assert model.net.factorization.lost == ()
    assert model.effective_graph() == model.graph


def test_it_is_the_density_of_the_full_graph(graph):
    model = made(graph)
    torch.manual_seed(0)
    same = StrNNDensity(model.graph, "gaussian", (40, 40), "tanh", Made(), "dense", dtype=torch.float64)
    x = torch.randn(7, len(graph), dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    assert torch.equal(model.log_prob_terms(x), same.log_prob_terms(x))
    assert isinstance(model, StrNNDensity)
    assert model.net.execution == "dense"


def test_kinds_by_name_and_missing_values():
    graph = ORDERS["children first"]
    kinds = {"a": "binary", "b": Categorical(3), "c": "gaussian", "d": "count"}
    model = made(graph, kinds, missing="factor")
    x = model.sample(50, generator=torch.Generator().manual_seed(2))
    assert bool(torch.isfinite(model.log_prob(x)).all())
    x[:, 0] = torch.nan
    terms = model.log_prob_terms(x)
    after = graph.order.index("a")
    lost = [node == "a" or graph.order.index(node) > after for node in graph.nodes]
    assert (terms == 0).all(dim=0).tolist() == lost


def test_samples_follow_its_density():
    model = made(ORDERS["children first"], "binary")
    x = model.sample(4000, generator=torch.Generator().manual_seed(3))
    states, counts = x.unique(dim=0, return_counts=True)
    p = model.log_prob(states).exp().detach()
    assert float(p.sum()) == pytest.approx(1.0) or len(states) < 16
    error = (p * (1 - p) / 4000).sqrt()
    assert bool(((counts / 4000 - p).abs() < 4.5 * error).all())


def test_a_neighbourhood_as_wide_as_the_picture_is_made():
    neighbourhood = weft.graph.neighbourhood(28, 28, radius=28)
    full = MADE(neighbourhood, hidden=(784,))
    assert full.graph == neighbourhood
    assert neighbourhood.edges_count == 784 * 783 // 2
    of_names = MADE(weft.graph.full(784), hidden=(784,))
    assert np.array_equal(full.graph.adjacency(), of_names.graph.adjacency())
    for mine, other in zip(full.net.factorization.masks_sparse, of_names.net.factorization.masks_sparse, strict=True):
        assert (mine != other).nnz == 0
    narrower = weft.graph.neighbourhood(28, 28, radius=26)
    assert narrower.edges_count < neighbourhood.edges_count


def test_random_masks_are_drawn_from_their_seed():
    graph = weft.graph.full(8)
    models = [made(graph, masks="random", hidden=(9, 9), seed=seed) for seed in (1, 1, 2)]
    masks = [[layer.mask for layer in model.net.layers] for model in models]
    assert all(torch.equal(mine, other) for mine, other in zip(masks[0], masks[1], strict=True))
    assert not all(torch.equal(mine, other) for mine, other in zip(masks[0], masks[2], strict=True))
    assert models[0].net.factorization.method == "made-random"
    x = torch.randn(5, 8, dtype=torch.float64)
    assert torch.equal(models[0].log_prob(x), models[1].log_prob(x))


@pytest.mark.parametrize("seed", range(4))
def test_the_effective_graph_lacks_what_random_masks_lost(seed):
    graph = ORDERS["mixed"]
    model = made(graph, masks="random", hidden=(3,), seed=seed)
    lost = set(model.net.factorization.lost)
    assert lost
    effective = model.effective_graph()
    assert effective.nodes == graph.nodes
    assert set(effective.edges) == set(combinations(graph.order, 2)) - lost
    dependent = effective.adjacency() | np.eye(5, dtype=bool)
    assert np.array_equal(jacobian(model), dependent)


def test_random_masks_of_a_wide_network_lose_nothing():
    model = made(weft.graph.full(4), masks="random", hidden=(200,))
    assert model.effective_graph() == model.graph


def test_it_fits():
    x = weft.data.LinearGaussian.draw(ORDERS["mixed"], seed=0).sample(300, seed=0)
    torch.manual_seed(0)
    model = MADE(ORDERS["mixed"], "gaussian", (16,))
    result = weft.fit(model, x, epochs=30, lr=1e-2)
    assert result.best_validation < result.history["validation"][0] - 0.5


def test_other_ways_to_say_a_graph():
    digraph = nx.DiGraph([("b", "a")])
    assert MADE(digraph, hidden=(2,)).graph.parents("a") == ("b",)
    assert MADE([[0, 0], [0, 0]], hidden=(2,)).graph.edges == (("x0", "x1"),)


def test_bad_input():
    with pytest.raises(ValueError, match=r"masks is 'randm', expected 'fixed' or 'random' \(did you mean 'random'\?\)"):
        MADE(weft.graph.full(3), masks="randm")
    with pytest.raises(ValueError, match="seed is -1, expected a whole number"):
        MADE(weft.graph.full(3), masks="random", seed=-1)
    with pytest.raises(weft.GraphError, match="cycle"):
        MADE([[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="kinds says nothing of"):
        MADE(weft.graph.chain(3), {weft.graph.chain(3).nodes[0]: "binary"})
    with pytest.raises(ValueError, match="missing is 'drop'"):
        MADE(weft.graph.full(3), missing="drop")
