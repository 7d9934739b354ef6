"""The known densities: their numbers by brute force and in closed form, and their samples."""

import copy
import itertools
import math
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from scipy import stats

import weft
from weft.data import BinaryNetwork, LinearGaussian
from weft.graph import chain, every_other, full, previous, random_dag, star

GRAPHS = {
    "one node": weft.Graph.from_edges([], nodes=["alone"]),
    "no edges": weft.Graph.from_edges([], nodes=["a", "b", "c"]),
    "children first": weft.Graph.from_edges([("b", "a"), ("c", "b"), ("d", "c"), ("d", "a")], nodes=list("abcd")),
    "chain": chain(6),
    "star": star(5),
    "full": full(6),
    "every other": every_other(8),
    "two parts": weft.Graph.from_edges([("u", "v"), ("y", "x"), ("z", "x"), ("z", "y")], nodes=list("vxuyz")),
}
KINDS = {"binary": BinaryNetwork, "gaussian": LinearGaussian}


@pytest.fixture(params=GRAPHS)
def graph(request):
    return GRAPHS[request.param]


@pytest.fixture(params=KINDS)
def kind(request):
    return KINDS[request.param]


def all_rows(d):
    return torch.tensor(list(itertools.product([0.0, 1.0], repeat=d)), dtype=torch.float64)


def score(network, row, i):
    """The weighted sum of a variable's parents, by names and one at a time."""
    g = network.graph
    weights = network.weights.toarray()
    return network.intercepts[i] + sum(
        weights[i, g.index(parent)] * float(row[g.index(parent)]) for parent in g.parents(g.nodes[i])
    )


# Densities


def test_binary_terms_by_definition(graph):
    truth = BinaryNetwork.draw(graph, seed=1)
    rows = all_rows(len(graph))
    on = np.array([[1 / (1 + math.exp(-score(truth, row, i))) for i in range(len(graph))] for row in rows])
    expected = np.log(np.where(rows.numpy() == 1, on, 1 - on))
    np.testing.assert_allclose(truth.log_prob_terms(rows).numpy(), expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(truth.log_prob(rows).numpy(), expected.sum(axis=1), rtol=1e-12, atol=1e-13)


def test_binary_sums_to_one(graph):
    truth = BinaryNetwork.draw(graph, seed=2)
    assert truth.log_prob(all_rows(len(graph))).exp().sum().item() == pytest.approx(1, abs=1e-12)


def test_binary_entropy_is_the_sum_over_all_rows(graph):
    truth = BinaryNetwork.draw(graph, seed=3)
    log_prob = truth.log_prob(all_rows(len(graph)))
    assert truth.entropy() == pytest.approx(-(log_prob.exp() * log_prob).sum().item(), rel=1e-12)


def test_gaussian_terms_by_definition(graph):
    truth = LinearGaussian.draw(graph, seed=1)
    rows = truth.sample(7, seed=0, dtype=torch.float64)
    expected = [
        [stats.norm.logpdf(float(row[i]), score(truth, row, i), truth.scales[i]) for i in range(len(graph))]
        for row in rows
    ]
    np.testing.assert_allclose(truth.log_prob_terms(rows).numpy(), expected, rtol=1e-10, atol=1e-12)


def test_gaussian_is_the_normal_of_its_mean_and_covariance(graph):
    truth = LinearGaussian.draw(graph, seed=2)
    rows = truth.sample(20, seed=0, dtype=torch.float64)
    normal = stats.multivariate_normal(truth.mean.numpy(), truth.covariance.numpy(), allow_singular=False)
    np.testing.assert_allclose(truth.log_prob(rows).numpy(), np.atleast_1d(normal.logpdf(rows)), rtol=1e-7, atol=1e-7)
    assert truth.entropy() == pytest.approx(float(normal.entropy()), rel=1e-9, abs=1e-9)
    assert truth.mean.dtype == truth.covariance.dtype == torch.float64


def test_gaussian_integrates_to_one_in_two_dimensions():
    child_first = weft.Graph.from_edges([("b", "a")], nodes=["a", "b"])
    truth = LinearGaussian(child_first, [[0, -1.5], [0, 0]], [0.3, -0.2], [0.5, 0.8])
    steps = torch.linspace(-9, 9, 1201, dtype=torch.float64)
    mass = truth.log_prob(torch.cartesian_prod(steps, steps)).exp().sum() * (steps[1] - steps[0]) ** 2
    assert mass.item() == pytest.approx(1, abs=1e-9)


def test_the_closed_form_of_a_chain_by_hand():
    truth = LinearGaussian(chain(3), [[0, 0, 0], [2.0, 0, 0], [0, -1.0, 0]], [1.0, 0.5, 0.0], [1.0, 0.5, 2.0])
    assert truth.mean.tolist() == [1.0, 2.5, -2.5]
    assert truth.covariance.tolist() == [[1.0, 2.0, -2.0], [2.0, 4.25, -4.25], [-2.0, -4.25, 8.25]]


def test_entropies_by_hand():
    assert BinaryNetwork(chain(5), np.zeros((5, 5))).entropy() == pytest.approx(5 * math.log(2), rel=1e-14)
    assert BinaryNetwork(star(3), np.zeros((3, 3)), 800.0).entropy() == 0
    assert LinearGaussian(chain(1), [[0]]).entropy() == pytest.approx(0.5 * math.log(2 * math.pi * math.e))


def test_the_exact_entropy_of_many_variables_with_few_ancestors():
    # 300 copies of one small network in one graph: the entropies add up.
    small = BinaryNetwork.draw(every_other(7), seed=4)
    many = BinaryNetwork(
        sp.csr_array(sp.block_diag([small.graph.adjacency(sparse=True)] * 300)).astype(bool),
        sp.block_diag([small.weights] * 300),
        np.tile(small.intercepts, 300),
    )
    assert many.entropy() == pytest.approx(300 * small.entropy(), rel=1e-12)


def test_the_entropy_of_a_large_graph_is_estimated():
    truth = BinaryNetwork.draw(chain(30), seed=0)
    with pytest.raises(ValueError, match=r"variable 'x21' has 21 ancestors.*call entropy_estimate\(n, seed\)"):
        truth.entropy()
    assert BinaryNetwork.draw(chain(21), seed=0).entropy() > 0  # x20 has 20, the most


def test_entropy_estimates_have_the_error_they_state():
    # 200 estimates: their mean deviation, in standard errors, is 0 ± 0.07 and their spread 1 ± 0.05.
    truth = BinaryNetwork.draw(every_other(9), seed=5)
    exact = truth.entropy()
    off = np.array([(mean - exact) / error for mean, error in (truth.entropy_estimate(2000, s) for s in range(200))])
    assert abs(off.mean()) < 4.5 / math.sqrt(200)
    assert abs(off.std() - 1) < 4.5 / math.sqrt(400)
    log_prob = truth.log_prob(truth.sample(2000, seed=0))
    assert truth.entropy_estimate(2000, 0)[1] < (log_prob.std() / math.sqrt(2000)).item()


def test_large_scores_lose_nothing():
    truth = BinaryNetwork(chain(2), [[0, 0], [2000.0, 0]], [0.0, -1000.0])
    assert truth.log_prob_terms(torch.tensor([[1.0, 0.0], [1.0, 1.0]])).tolist() == [
        [-math.log(2), -1000.0],
        [-math.log(2), 0.0],
    ]


# Samples


def test_samples_follow_the_graph_whatever_the_order_of_the_nodes():
    # Every child copies its parent, so all columns are equal: only right if parents are drawn before their children.
    nodes = ["c", "a", "e", "b", "d"]
    path = weft.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")], nodes=nodes)
    edges = path.adjacency().astype(float)
    x = BinaryNetwork(path, 200 * edges, [-100.0 if path.parents(name) else 0.0 for name in nodes]).sample(400, seed=0)
    assert bool((x == x[:, :1]).all())
    assert 100 < x[:, 0].sum() < 300
    scales = [1e-9 if path.parents(name) else 1.0 for name in nodes]
    y = LinearGaussian(path, 2 * edges, scales=scales).sample(400, seed=0, dtype=torch.float64)
    steps = torch.tensor([2.0 ** "abcde".index(name) for name in nodes], dtype=torch.float64)
    torch.testing.assert_close(y, y[:, 1:2] * steps, rtol=0, atol=1e-6)
    assert y[:, 1].std() > 0.5


@pytest.mark.parametrize("name", ["children first", "two parts", "full"])
def test_binary_samples_have_the_probabilities_of_the_density(name):
    truth = BinaryNetwork.draw(GRAPHS[name], seed=6)
    d, n = len(truth.graph), 20_000
    x = truth.sample(n, seed=7)
    seen = torch.bincount((x @ 2.0 ** torch.arange(d - 1, -1, -1)).long(), minlength=2**d).double()
    expected = n * truth.log_prob(all_rows(d)).exp()
    common = expected > 5
    seen, expected = (torch.cat([part[common], part[~common].sum()[None]]) for part in (seen, expected))
    assert stats.chi2.sf(((seen - expected).square() / expected.clamp(min=1e-9)).sum(), int(common.sum())) > 1e-4


@pytest.mark.parametrize("name", ["children first", "two parts", "full", "every other"])
def test_gaussian_samples_have_the_mean_and_covariance(name):
    # Every deviation is below 4.5 standard errors; any one weight that is off by 0.1 shows as more than that.
    drawn = LinearGaussian.draw(GRAPHS[name], seed=8)
    truth = LinearGaussian(drawn.graph, drawn.weights, drawn.intercepts, np.linspace(0.7, 1.3, len(drawn.graph)))
    n = 100_000
    x = truth.sample(n, seed=9, dtype=torch.float64)

    def worst(network):
        mean, cov = network.mean, network.covariance
        spread = cov.diagonal()
        centred = x - mean
        off_mean = centred.mean(dim=0) / (spread / n).sqrt()
        off_cov = (centred.T @ centred / n - cov) / ((spread[:, None] * spread + cov.square()) / n).sqrt()
        return max(off_mean.abs().max().item(), off_cov.abs().max().item())

    assert worst(truth) < 4.5
    for place in range(truth.weights.nnz):
        wrong = truth.weights.copy()
        wrong.data[place] += 0.1
        assert worst(LinearGaussian(truth.graph, wrong, truth.intercepts, truth.scales)) > 4.5


def test_the_same_seed_gives_the_same_rows_and_fewer_rows_are_the_first(kind):
    truth = kind.draw(every_other(6), seed=0)
    x = truth.sample(2500, seed=3)
    assert torch.equal(x, truth.sample(2500, seed=3))
    assert torch.equal(x[:1100], truth.sample(1100, seed=3))
    assert not torch.equal(x, truth.sample(2500, seed=4))
    assert len(x.unique(dim=0)) > 20  # the pieces in which rows are drawn differ


def test_samples_are_float32_unless_told(kind, graph):
    truth = kind.draw(graph, seed=0)
    x = truth.sample(5, seed=0)
    assert (x.shape, x.dtype) == ((5, len(graph)), torch.float32)
    assert torch.equal(truth.sample(5, seed=0, dtype=torch.float64).float(), x)
    assert truth.sample(0, seed=0).shape == (0, len(graph))


def test_log_prob_computes_in_float64_for_any_shape_and_type(kind):
    truth = kind.draw(every_other(5), seed=1)
    x = truth.sample(6, seed=2)
    terms = truth.log_prob_terms(x)
    assert terms.dtype == torch.float64
    assert torch.equal(terms, truth.log_prob_terms(x.double()))
    assert torch.equal(truth.log_prob(x.reshape(2, 3, 5)), terms.sum(dim=1).reshape(2, 3))
    assert torch.equal(truth.log_prob(x[0]), terms[0].sum())
    assert truth.log_prob(x[:0]).shape == (0,)
    assert not truth.log_prob(x.requires_grad_()).requires_grad


def test_many_rows_are_computed_in_pieces(kind):
    truth = kind.draw(full(4), seed=1)
    x = truth.sample(3000, seed=2)
    torch.testing.assert_close(
        truth.log_prob(x), torch.stack([truth.log_prob(row) for row in x]), rtol=1e-12, atol=1e-12
    )


def test_large_graphs(kind):
    truth = kind.draw(random_dag(5000, parents=3.0, seed=1), seed=0)
    x = truth.sample(20, seed=0)
    assert x.shape == (20, 5000)
    assert bool(truth.log_prob(x).isfinite().all())


def test_no_variables(kind):
    truth = kind(weft.Graph.from_edges([]), [])
    assert truth.sample(3, seed=0).shape == (3, 0)
    assert truth.log_prob(torch.zeros(3, 0)).tolist() == [0, 0, 0]
    assert truth.entropy() == 0


# Draws


def test_draws_are_as_the_paper_says():
    graph = previous(2000, 2)
    for kind in KINDS.values():
        truth = kind.draw(graph, seed=10)
        assert truth.graph is graph
        assert np.array_equal(truth.weights.toarray() != 0, graph.adjacency())
        assert stats.kstest(truth.weights.data, "norm").pvalue > 1e-4
        assert stats.kstest(truth.intercepts, "norm").pvalue > 1e-4
        without = kind.draw(graph, seed=10, intercepts=False)
        assert not without.intercepts.any()
        assert np.array_equal(without.weights.data, truth.weights.data)
        assert np.array_equal(kind.draw(graph, seed=10).intercepts, truth.intercepts)
        assert not np.array_equal(kind.draw(graph, seed=11).weights.data, truth.weights.data)
    scales = LinearGaussian.draw(graph, seed=10).scales
    assert scales.min() > 0
    assert stats.kstest(scales, "halfnorm").pvalue > 1e-4
    assert np.array_equal(LinearGaussian.draw(graph, seed=10, intercepts=False).scales, scales)


def test_weights_may_be_dense_sparse_or_a_tensor(kind):
    weights = [[0, 0], [0.5, 0]]
    x = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    expected = kind(chain(2), weights).log_prob(x)
    for form in (np.array(weights), torch.tensor(weights), sp.coo_matrix(weights), sp.csr_array(weights)):
        assert torch.equal(kind(chain(2), form).log_prob(x), expected)
    assert torch.equal(kind([[0, 0], [1, 0]], weights, [0, 0]).log_prob(x), expected)


def test_an_edge_may_have_no_weight(kind):
    assert kind(chain(3), np.zeros((3, 3))).weights.nnz == 0


def test_the_given_matrix_is_not_kept(kind):
    weights, intercepts = np.array([[0, 0], [0.5, 0]]), np.zeros(2)
    truth = kind(chain(2), weights, intercepts)
    weights[1, 0], intercepts[0] = 9, 9
    assert (truth.weights.toarray()[1, 0], truth.intercepts[0]) == (0.5, 0)


def test_copies_and_repr(kind):
    truth = kind.draw(chain(3), seed=0)
    for other in (copy.deepcopy(truth), pickle.loads(pickle.dumps(truth))):
        assert torch.equal(other.sample(9, seed=1), truth.sample(9, seed=1))
    assert repr(truth) == f"{kind.__name__}(Graph(3 nodes, 2 edges, depth 2: x0, x1, x2))"


# Bad input

WEIGHTS = {
    "off the graph": ([[0, 0.5], [0, 0]], r"weights has 0\.5 for x1 -> x0, expected 0.*pass weights\.T"),
    "on the diagonal": ([[0, 0], [1, 2]], r"weights has 2 for x1 -> x1, expected 0"),
    "not finite": ([[0, 0], [math.nan, 0]], "weights has nan for x0 -> x1, expected a finite number"),
    "too small": ([[0.0]], r"weights has the shape \(1, 1\), expected \(2, 2\)"),
    "a vector": ([1.0, 2.0], r"weights has the shape \(1, 2\), expected \(2, 2\)"),
    "ragged": ([[0], [1, 2]], r"weights is \[\[0\], \[1, 2\]\], expected a matrix of numbers"),
    "words": ([["a", "b"], ["c", "d"]], "weights is .*, expected a matrix of numbers"),
    "none": (None, "weights is None, expected a matrix of numbers"),
    "sparse, off the graph": (sp.csr_array([[0, 0.5], [0, 0]]), r"weights has 0\.5 for x1 -> x0, expected 0"),
}


@pytest.mark.parametrize("case", WEIGHTS)
def test_wrong_weights(kind, case):
    weights, message = WEIGHTS[case]
    with pytest.raises(ValueError, match=message):
        kind(chain(2), weights)


def test_a_table_of_weights_is_refused(kind):
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=r"weights is a table.*to_numpy\(\)"):
        kind(chain(2), pandas.DataFrame([[0, 0], [1, 0]]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"intercepts": [0.0, 1.0, 2.0]}, r"intercepts has the shape \(3,\), expected \(2,\): x0, x1"),
        ({"intercepts": [0.0, math.inf]}, "intercepts has inf for 'x1', expected a finite number"),
        ({"intercepts": "none"}, "intercepts is 'none', expected numbers"),
        ({"scales": [1.0, 0.0]}, "scales has 0 for 'x1', expected a number above 0"),
        ({"scales": -1}, "scales has -1 for 'x0', expected a number above 0"),
        ({"scales": [math.nan, 1]}, "scales has nan for 'x0', expected a finite number"),
    ],
    ids=str,
)
def test_wrong_vectors(arguments, message):
    with pytest.raises(ValueError, match=message):
        LinearGaussian(chain(2), [[0, 0], [1, 0]], **arguments)


def test_a_cycle_is_no_graph(kind):
    with pytest.raises(weft.GraphError, match="cycle"):
        kind([[0, 1], [1, 0]], np.zeros((2, 2)))
    with pytest.raises(weft.GraphError, match="cycle"):
        kind.draw([[0, 1], [1, 0]], seed=0)


@pytest.mark.parametrize("seed", [-1, 1.5, None, True])
def test_wrong_seeds(kind, seed):
    with pytest.raises(ValueError, match=r"seed is .*, expected a whole number"):
        kind.draw(chain(2), seed)
    with pytest.raises(ValueError, match=r"seed is .*, expected a whole number"):
        kind.draw(chain(2), 0).sample(2, seed)


def test_wrong_sizes_and_types(kind):
    truth = kind.draw(chain(2), 0)
    with pytest.raises(ValueError, match="n is -1, expected a whole number of at least 0"):
        truth.sample(-1, seed=0)
    with pytest.raises(ValueError, match=r"dtype is torch\.int64, expected a floating type"):
        truth.sample(3, seed=0, dtype=torch.int64)
    with pytest.raises(ValueError, match=r"expected 2 columns \(x0, x1\), got 3"):
        truth.log_prob(torch.zeros(4, 3))
    with pytest.raises(ValueError, match=r"expected 2 columns \(x0, x1\), got a scalar"):
        truth.log_prob(torch.tensor(1.0))
    with pytest.raises(ValueError, match=r"x is a list, expected a torch\.Tensor"):
        truth.log_prob([[0.0, 1.0]])
    with pytest.raises(ValueError, match="n is 1, expected a whole number of at least 2"):
        BinaryNetwork.draw(chain(2), 0).entropy_estimate(1, seed=0)


def test_values_out_of_range_are_named():
    x = torch.tensor([[0.0, 1.0], [1.0, 2.0], [0.5, 1.0]])
    with pytest.raises(ValueError, match=r"column 'x1', row 1: got 2, expected 0 or 1 \(1 more like it\)"):
        BinaryNetwork.draw(chain(2), 0).log_prob(x)
    x[2, 0] = math.nan
    with pytest.raises(ValueError, match="column 'x0', row 2: got nan, expected a finite number"):
        LinearGaussian.draw(chain(2), 0).log_prob(x)
