"""StrNNDensity: a density that is Markov for its graph, sums to one, and samples from itself."""

import copy
import itertools
import pickle

import networkx as nx
import numpy as np
import pytest
import torch
from scipy import stats
from torch.func import functional_call, jacrev, stack_module_state, vmap

import weft
from weft.models import Categorical, Ordinal, StrNNDensity

GRAPH = weft.Graph.from_edges([("d", "a"), ("d", "b"), ("a", "c"), ("b", "c"), ("c", "e")])  # d first, children before
MIXED = {
    "d": "gaussian",
    "a": "binary",
    "b": Categorical(3),
    "c": "count",
    "e": Ordinal(4),
}
MODELS = {
    "binary": {},
    "gaussian": {"kinds": "gaussian"},
    "poisson": {"kinds": "poisson"},
    "negative binomial": {"kinds": "negative-binomial"},
    "categorical": {"kinds": Categorical(3)},
    "ordinal": {"kinds": Ordinal(3)},
    "mixed": {"kinds": MIXED},
    "mixed, sparse": {"kinds": MIXED, "execution": "sparse"},
    "mixed, grouped": {"kinds": MIXED, "factorization": "grouped", "residual": True},
    "mixed, context": {"kinds": MIXED, "context": 2},
}


def model_of(name="mixed", graph=GRAPH, seed=0, **options):
    torch.manual_seed(seed)
    options = {"hidden": (24, 24), "activation": "tanh", "dtype": torch.float64, **MODELS[name], **options}
    model = StrNNDensity(graph, **options)
    with torch.no_grad():
        for parameter in model.parameters():  # a root has no inputs to scale its bias by, and starts at zero
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def context_of(model, *lead):
    generator = torch.Generator().manual_seed(5)
    return torch.randn(*lead, model.context, dtype=torch.float64, generator=generator) if model.context else None


def drawn(model, n=6, seed=1):
    context = context_of(model, n)
    return model.sample(n, context, torch.Generator().manual_seed(seed)), context


@pytest.fixture(params=MODELS)
def model(request):
    return model_of(request.param)


def test_shapes(model):
    x, context = drawn(model)
    assert x.shape == (6, 5)
    assert x.dtype == torch.float64
    terms = model.log_prob_terms(x, context)
    assert terms.shape == (6, 5)
    torch.testing.assert_close(model.log_prob(x, context), terms.sum(dim=1), rtol=1e-13, atol=0)
    assert bool(torch.isfinite(terms).all())
    for lead in ((), (2, 3), (0,)):
        rows = x.new_zeros(*lead, 5)
        assert model.log_prob(rows, context_of(model, *lead)).shape == lead


def test_a_term_depends_on_its_variable_and_its_parents_alone():
    model = model_of("gaussian")
    x, _ = drawn(model, 20)
    found = vmap(jacrev(model))(x).abs().amax(dim=0).detach().numpy() > 0
    assert np.array_equal(found, GRAPH.adjacency() | np.eye(5, dtype=bool))


@pytest.mark.parametrize("name", ["mixed", "mixed, sparse", "mixed, grouped", "categorical"])
def test_other_values_do_not_touch_a_term(name):
    model = model_of(name)
    x, other = drawn(model, 50)[0], drawn(model, 50, seed=2)[0]
    before = model.log_prob_terms(x)
    for column, node in enumerate(GRAPH.nodes):
        moved = x.clone()
        moved[:, column] = other[:, column]
        same = (model.log_prob_terms(moved) == before).all(dim=0).tolist()
        touched = {node, *GRAPH.children(node)}
        assert [each not in touched for each in GRAPH.nodes] == same


def test_probabilities_sum_to_one():
    kinds = {"d": Ordinal(3), "a": "binary", "b": Categorical(3), "c": "binary", "e": Ordinal(4)}
    model = model_of("binary", kinds=kinds)
    sizes = {"d": 3, "a": 2, "b": 3, "c": 2, "e": 4}
    every = itertools.product(*(range(sizes[node]) for node in GRAPH.nodes))
    x = torch.tensor(list(every), dtype=torch.float64)
    torch.testing.assert_close(model.log_prob(x).exp().sum().item(), 1.0, rtol=1e-12, atol=0)


@pytest.mark.parametrize("standardized", [False, True])
def test_a_density_integrates_to_one(standardized):
    model = model_of("gaussian", graph=weft.graph.chain(2))
    train = 10 + 3 * torch.randn(100, 2, dtype=torch.float64)
    if standardized:
        model.standardize_(train)
    low, high = (-20, 20) if not standardized else (-50, 70)
    axis = torch.linspace(low, high, 1201, dtype=torch.float64)
    grid = torch.cartesian_prod(axis, axis)
    total = model.log_prob(grid).exp().sum().item() * ((high - low) / 1200) ** 2
    assert abs(total - 1) < 1e-8


def test_samples_follow_the_probabilities():
    # 4000 draws of 8 states: with this power a tenth of a unit in one logit would be seen.
    model = model_of("binary", graph=weft.Graph.from_edges([("a", "b"), ("a", "c"), ("b", "c")]))
    states = torch.tensor(list(itertools.product([0.0, 1.0], repeat=3)), dtype=torch.float64)
    x = model.sample(4000, generator=torch.Generator().manual_seed(3))
    counts = [int((x == state).all(dim=1).sum()) for state in states]
    expected = 4000 * model.log_prob(states).exp().detach()
    assert stats.chisquare(counts, expected.numpy()).pvalue > 0.01


def test_gaussian_samples_follow_the_density():
    model = model_of("gaussian").standardize_(5 + 2 * torch.randn(50, 5, dtype=torch.float64))
    x = model.sample(4000, generator=torch.Generator().manual_seed(3))
    for column, node in enumerate(GRAPH.nodes):
        found = model.conditional(node, {each: x[:, GRAPH.index(each)] for each in GRAPH.parents(node)})
        uniform = found.cdf(x[:, column]).detach().numpy()
        assert stats.kstest(uniform, "uniform").pvalue > 0.01


def test_the_same_generator_gives_the_same_rows(model):
    assert torch.equal(drawn(model)[0], drawn(model)[0])
    assert not torch.equal(drawn(model)[0], drawn(model, seed=2)[0])


@pytest.mark.parametrize("name", ["mixed", "gaussian", "mixed, context"])
def test_a_conditional_is_the_term(name):
    model = model_of(name).standardize_(drawn(model_of(name), 40)[0])
    x, context = drawn(model, 7)
    terms = model.log_prob_terms(x, context)
    for column, node in enumerate(GRAPH.nodes):
        given = {each: x[:, GRAPH.index(each)] for each in GRAPH.parents(node)}
        found = model.conditional(node, given, context) if given else None
        if found is not None:
            torch.testing.assert_close(found.log_prob(x[:, column]), terms[:, column], rtol=1e-9, atol=1e-9)
    assert model_of("gaussian").conditional("d", {}).batch_shape == ()


def test_units_change_the_density_by_their_scale():
    model = model_of("gaussian")
    z = torch.randn(30, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    before = model.log_prob(z)
    train = torch.tensor([1.0, 10.0, 100.0, 0.1, 5.0]) * torch.randn(500, 5, dtype=torch.float64) + 7
    assert model.standardize_(train) is model
    torch.testing.assert_close(model.shift, train.mean(dim=0))
    torch.testing.assert_close(model.scale, train.std(dim=0, correction=0))
    x = z * model.scale + model.shift
    torch.testing.assert_close(model.log_prob(x), before - model.scale.log().sum(), rtol=1e-9, atol=1e-9)


def test_only_continuous_columns_are_scaled():
    model = model_of("mixed")
    model.standardize_(drawn(model, 100)[0])
    scaled = (model.scale != 1).tolist()
    assert scaled == [MIXED[node] == "gaussian" for node in GRAPH.nodes]


class TestMissing:
    def test_terms_with_a_missing_part_are_left_out(self):
        model, whole = model_of("mixed", missing="factor"), model_of("mixed")
        x, _ = drawn(whole, 40)
        expected = whole.log_prob_terms(x)
        generator = torch.Generator().manual_seed(4)
        holes = torch.rand(x.shape, generator=generator) < 0.3
        terms = model.log_prob_terms(torch.where(holes, torch.nan, x))
        parents = torch.from_numpy(GRAPH.adjacency())
        left_out = holes | (holes[:, None, :] & parents).any(dim=-1)
        assert bool((terms[left_out] == 0).all())
        torch.testing.assert_close(terms[~left_out], expected[~left_out], rtol=1e-12, atol=0)
        terms.sum().backward()
        assert all(bool(torch.isfinite(p.grad).all()) for p in model.parameters())

    def test_a_complete_row_is_worth_the_same(self):
        x, _ = drawn(model_of("mixed"))
        assert torch.equal(model_of("mixed", missing="factor").log_prob(x), model_of("mixed").log_prob(x))

    def test_refused_unless_told(self):
        model = model_of("gaussian")
        x = drawn(model)[0]
        x[3, 1] = torch.nan
        with pytest.raises(ValueError, match=r"column 'a', row 3: got nan, expected a finite number\."):
            model.log_prob(x)

    def test_centre_and_spread_are_of_what_is_there(self):
        model = model_of("gaussian", missing="factor")
        train = torch.randn(50, 5, dtype=torch.float64)
        holes = train.clone()
        holes[10:, 2] = torch.nan
        model.standardize_(holes)
        torch.testing.assert_close(model.shift[2], train[:10, 2].mean())


def test_the_effective_graph_is_the_graph(model):
    assert model.effective_graph() == GRAPH


def test_the_effective_graph_lacks_what_random_masks_lost():
    model = StrNNDensity(weft.graph.full(8), hidden=(6,), factorization=weft.masks.MadeRandom(seed=1))
    lost = model.net.factorization.lost
    assert lost
    assert set(model.effective_graph().edges) == set(weft.graph.full(8).edges) - set(lost)


def test_copies_and_states(model):
    x, context = drawn(model)
    expected = model.log_prob(x, context)
    for copied in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert torch.equal(copied.log_prob(x, context), expected)
        assert torch.equal(drawn(copied)[0], x)
    other = copy.deepcopy(model)
    for parameter in other.parameters():
        torch.nn.init.normal_(parameter)
    other.load_state_dict(model.state_dict())
    assert torch.equal(other.log_prob(x, context), expected)


def test_indices_survive_the_meta_device():
    model = model_of("mixed", missing="factor")
    empty = StrNNDensity(GRAPH, MIXED, (24, 24), "tanh", missing="factor", device="meta", dtype=torch.float64).to_empty(
        device="cpu"
    )
    empty.load_state_dict(model.state_dict())
    x, _ = drawn(model)
    x[2, 1] = torch.nan
    assert torch.equal(empty.log_prob_terms(x), model.log_prob_terms(x))


def test_an_ensemble_by_vmap():
    models = [model_of("mixed", seed=seed) for seed in range(3)]
    x, _ = drawn(models[0])
    parameters, buffers = stack_module_state(models)
    found = vmap(lambda p, b: functional_call(models[0], (p, b), (x,)))(parameters, buffers)
    for row, each in zip(found, models, strict=True):
        torch.testing.assert_close(row, each(x), rtol=1e-12, atol=1e-12)


def test_a_finished_factorization_brings_its_widths():
    finished = weft.factorize(GRAPH, (30,), "exact", "balanced")
    model = StrNNDensity(GRAPH, "gaussian", factorization=finished)
    assert model.net.factorization is finished
    assert model.log_prob(torch.zeros(2, 5)).shape == (2,)


def test_a_digraph_and_a_matrix_are_graphs():
    digraph = nx.DiGraph([("a", "b")])
    assert StrNNDensity(digraph).graph == weft.Graph.from_edges([("a", "b")])
    assert StrNNDensity([[0, 0], [1, 0]]).graph.edges == (("x0", "x1"),)


class TestBadInput:
    @pytest.mark.parametrize(
        ("column", "value", "message"),
        [
            ("a", 2.0, r"column 'a', row 4: got 2, expected 0 or 1\."),
            ("a", 0.5, r"column 'a', row 4: got 0.5, expected 0 or 1\."),
            ("b", 3.0, r"column 'b', row 4: got 3, expected a whole number from 0 to 2\."),
            ("c", -1.0, r"column 'c', row 4: got -1, expected a count"),
            ("c", 1.5, r"column 'c', row 4: got 1.5, expected a count"),
            ("d", float("inf"), r"column 'd', row 4: got inf, expected a finite number"),
            ("e", float("nan"), r"column 'e', row 4: got nan, expected a whole number from 0 to 3"),
        ],
    )
    def test_values_out_of_range_name_column_and_row(self, column, value, message):
        model = model_of("mixed")
        x = drawn(model)[0]
        x[4, GRAPH.index(column)] = value
        for call in (model.log_prob, model.log_prob_terms, model.standardize_):
            with pytest.raises(ValueError, match=message):
                call(x)

    def test_several_are_counted(self):
        with pytest.raises(ValueError, match=r"column 'd', row 0: got 2, .*\(9 more like it\)\."):
            model_of("binary").log_prob(torch.full((2, 5), 2.0, dtype=torch.float64))

    def test_shapes_and_types(self):
        model = model_of("binary")
        with pytest.raises(ValueError, match=r"expected 5 columns \(d, a, b, c, e\), got 3"):
            model.log_prob(torch.zeros(4, 3, dtype=torch.float64))
        with pytest.raises(ValueError, match=r"x is a list, expected a torch.Tensor"):
            model.log_prob([[0.0] * 5])
        with pytest.raises(ValueError, match=r"x is of torch.float32, expected torch.float64"):
            model.log_prob(torch.zeros(4, 5))

    def test_a_constant_column(self):
        train = torch.randn(20, 5, dtype=torch.float64)
        train[:, 2] = 3.0
        with pytest.raises(ValueError, match=r"column 'b' is constant in the training rows \(3\)"):
            model_of("gaussian").standardize_(train)

    def test_a_column_that_is_all_missing(self):
        train = torch.randn(20, 5, dtype=torch.float64)
        train[:, 2] = torch.nan
        with pytest.raises(ValueError, match=r"column 'b' has 0 values in the training rows, expected at least 2"):
            model_of("gaussian", missing="factor").standardize_(train)

    def test_arguments(self):
        with pytest.raises(ValueError, match=r"missing is 'drop', expected 'refuse' or 'factor'"):
            model_of(missing="drop")
        with pytest.raises(weft.GraphError, match="cycle"):
            StrNNDensity([[0, 1], [1, 0]])
        with pytest.raises(weft.GraphError, match=r"rows y0, y1 and the columns x0, x1, x2"):
            StrNNDensity([[1, 0, 0], [0, 1, 0]])
        with pytest.raises(ValueError, match=r"n is -1, expected a whole number"):
            model_of("binary").sample(-1)
        with pytest.raises(ValueError, match=r"expected a context of shape \(3, 2\), got none"):
            model_of("mixed, context").sample(3)

    def test_parents_of_a_conditional(self):
        model = model_of("binary")
        with pytest.raises(
            ValueError, match=r"parents has a, expected a value for each parent of 'c': {'a': …, 'b': …}"
        ):
            model.conditional("c", {"a": 1.0})
        with pytest.raises(weft.GraphError, match="no node is named 'z'"):
            model.conditional("z", {})


def test_a_context_that_is_no_number_is_refused():
    model = weft.StrNNDensity(weft.graph.chain(2), context=1)
    x = torch.zeros(3, 2)
    for value in (torch.nan, torch.inf):
        context = torch.tensor([[0.0], [value], [0.0]])
        for call in (lambda c=context: model.log_prob(x, c), lambda c=context: model.sample(3, c)):
            with pytest.raises(ValueError, match=r"column 0 of the context, row 1: got (nan|inf), expected a finite"):
                call()


def test_conditional_needs_numbers():
    model = weft.StrNNDensity(weft.graph.chain(2), missing="factor")
    for value, message in [(torch.nan, "is NaN"), ("a", "expected numbers"), (None, "expected numbers")]:
        with pytest.raises(ValueError, match=message):
            model.conditional("x1", {"x0": value})


def test_arguments_of_the_wrong_kind():
    with pytest.raises(ValueError, match=r"generator is 0, expected a torch\.Generator"):
        weft.StrNNDensity(weft.graph.chain(2)).sample(3, generator=0)
    with pytest.raises(ValueError, match="device is 'gpu', expected one that tensors can be put on"):
        weft.StrNNDensity(weft.graph.chain(2), device="gpu")


def test_no_variables_and_one():
    none = weft.StrNNDensity(weft.Graph.from_edges([]))
    assert none.log_prob(torch.zeros(3, 0)).tolist() == [0.0, 0.0, 0.0]
    assert none.sample(2).shape == (2, 0)
    one = weft.StrNNDensity(weft.Graph.from_edges([], nodes=["a"]), "gaussian")
    assert one.log_prob(one.sample(2)).shape == (2,)


def test_weights_of_other_columns_are_refused():
    graph, kinds = weft.Graph.from_edges([("a", "b")]), {"a": "gaussian", "b": "binary"}
    state = weft.StrNNDensity(graph, kinds).state_dict()
    weft.StrNNDensity(graph, kinds).load_state_dict(state)
    with pytest.raises(
        ValueError, match=r"with the columns 'a: Gaussian\(\); b: Binary\(\)', expected 'a: .*; b: Poisson"
    ):
        weft.StrNNDensity(graph, {"a": "gaussian", "b": "count"}).load_state_dict(state)
    renamed = weft.Graph.from_edges([("x", "b")])
    with pytest.raises(ValueError, match="expected 'x: Gaussian"):
        weft.StrNNDensity(renamed, {"x": "gaussian", "b": "binary"}).load_state_dict(state)


def test_what_is_no_tensor_is_refused_with_what_makes_one():
    with pytest.raises(
        ValueError, match=r"x is a list, expected a torch\.Tensor: pass weft\.data\.read_table\(x, model"
    ):
        weft.StrNNDensity(weft.graph.chain(2)).log_prob([[0.0, 1.0]])
