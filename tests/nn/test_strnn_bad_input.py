"""Bad input to a network: each case an error that says what was got, what was expected and what mends it."""

import re

import networkx as nx
import numpy as np
import pytest
import torch

import weft
from weft.graph import Structure
from weft.masks import FACTORIZERS

from .cases import EXECUTIONS, network

CHAIN = weft.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")])


def chain_net(**options):
    return weft.StrNN(CHAIN, (16,), **options)


def refused(message, error=ValueError):
    return pytest.raises(error, match=message)


class TestInputs:
    @pytest.mark.parametrize(
        ("shape", "got"),
        [((7, 3), "3"), ((3,), "3"), ((7, 6), "6"), ((5, 1), "1"), ((5, 0), "0"), ((2, 5, 4), "4"), ((), "a scalar")],
        ids=str,
    )
    @pytest.mark.parametrize("execution", EXECUTIONS)
    def test_the_wrong_width(self, execution, shape, got):
        with refused(rf"^expected 5 columns \(a, b, c, d, e\), got {got}\.$"):
            chain_net(execution=execution)(torch.zeros(shape))

    def test_the_wrong_width_of_several_inputs(self):
        with refused(r"^expected 8 columns \(a x 2, b, c x 3, d, e\), got 5\.$"):
            chain_net(inputs=[2, 1, 3, 1, 1])(torch.zeros(7, 5))

    def test_the_wrong_width_of_many_inputs(self):
        net = weft.StrNN(weft.graph.chain(50), (50,))
        with refused(r"^expected 50 columns \(.*, … \(50 in all\)\), got 49\.$") as caught:
            net(torch.zeros(7, 49))
        assert len(str(caught.value)) < 120

    def test_the_wrong_width_where_there_is_a_context(self):
        with refused(r"^expected 5 columns \(a, b, c, d, e\), got 7\.$"):
            chain_net(context=2)(torch.zeros(4, 7), torch.zeros(4, 2))

    @pytest.mark.parametrize(
        ("x", "kind"),
        [(np.zeros((4, 5)), "ndarray"), ([[0.0] * 5], "list"), (None, "NoneType"), (1.0, "float"), ("abcde", "str")],
        ids=str,
    )
    def test_what_is_no_tensor(self, x, kind):
        with refused(rf"^x is a {kind}, expected a torch.Tensor; use torch.as_tensor\(\.\.\.\)\.$"):
            chain_net()(x)

    @pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.int64, torch.bool, torch.complex64], ids=str)
    def test_the_wrong_type(self, dtype):
        with refused(
            rf"^x is of {dtype}, expected torch.float32: pass .to\(torch.float32\), or convert the network\.$"
        ):
            chain_net()(torch.zeros(4, 5, dtype=dtype))
        with refused(r"^x is of torch.float32, expected torch.float64: pass .to\(torch.float64\)"):
            chain_net(dtype=torch.float64)(torch.zeros(4, 5))

    def test_the_wrong_device(self):
        with refused(r"^x is on meta, expected cpu: pass .to\('cpu'\), or move the network\.$"):
            chain_net()(torch.zeros(4, 5, device="meta"))
        with refused(r"^the context is on meta, expected cpu"):
            chain_net(context=2)(torch.zeros(4, 5), torch.zeros(4, 2, device="meta"))

    def test_what_is_no_ordinary_tensor(self):
        with refused(r"^x is sparse or nested, expected an ordinary tensor; use .to_dense\(\)"):
            chain_net()(torch.zeros(4, 5).to_sparse())


class TestContexts:
    @pytest.mark.parametrize("execution", EXECUTIONS)
    def test_missing(self, execution):
        with refused(r"^expected a context of shape \(4, 2\), got none\.$"):
            chain_net(context=2, execution=execution)(torch.zeros(4, 5))

    def test_unexpected(self):
        with refused(r"^got a context, but the network has none: make it with StrNN\(..., context=n\)\.$"):
            chain_net()(torch.zeros(4, 5), torch.zeros(4, 2))

    @pytest.mark.parametrize("shape", [(4, 1), (4, 3), (3, 2), (2,), (1, 2), (1, 4, 2), ()], ids=str)
    def test_the_wrong_shape(self, shape):
        expected = (
            rf"expected a context of shape \(4, 2\), got {re.escape(str(shape))}: its leading dimensions are those"
        )
        with refused(expected + " of x; expand it where it is shared"):
            chain_net(context=2)(torch.zeros(4, 5), torch.zeros(shape))

    @pytest.mark.parametrize("context", [np.zeros((4, 2)), [[0.0, 0.0]] * 4, 3.0], ids=lambda c: type(c).__name__)
    def test_what_is_no_tensor(self, context):
        with refused(rf"the context is a {type(context).__name__}, expected a torch.Tensor"):
            chain_net(context=2)(torch.zeros(4, 5), context)

    @pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.complex64], ids=str)
    def test_the_wrong_type(self, dtype):
        with refused(rf"^the context is of {dtype}, expected torch.float32: pass .to\(torch.float32\)"):
            chain_net(context=2)(torch.zeros(4, 5), torch.zeros(4, 2, dtype=dtype))


class TestArguments:
    @pytest.mark.parametrize("device", ["nope", "", 99, 1.5, []], ids=repr)
    def test_devices_that_are_none(self, device):
        with refused(rf"^device is {re.escape(repr(device))}, expected one that tensors can be put on: \w+"):
            chain_net(device=device)

    @pytest.mark.parametrize("what", ["residual", "bias"])
    @pytest.mark.parametrize("value", ["False", 1, None, [True]], ids=repr)
    def test_switches_that_are_neither(self, what, value):
        with refused(rf"^{what} is {re.escape(repr(value))}, expected True or False\.$"):
            chain_net(**{what: value})

    @pytest.mark.parametrize("what", ["outputs", "inputs", "context"])
    def test_counts_beyond_any_memory(self, what):
        with refused(rf"^{what} is 10+, expected a whole number from [01] to 268,435,456\.$"):
            chain_net(**{what: 10**30})

    @pytest.mark.parametrize(
        ("execution", "suggested"),
        [("spars", "sparse"), ("Dense", "dense"), ("zzz", None), ("", None), (None, None), (1, None)],
    )
    def test_unknown_executions_list_the_valid_ones(self, execution, suggested):
        with refused(rf"unknown execution {execution!r}.* Valid: auto, dense, sparse\.") as caught:
            chain_net(execution=execution)
        assert ("did you mean" in str(caught.value)) == (suggested is not None)
        assert suggested is None or f"did you mean {suggested!r}?" in str(caught.value)
        with refused(rf"unknown execution {execution!r}.* Valid: auto, dense, sparse\."):
            chain_net().to_execution(execution)

    def test_unhashable_executions_too(self):
        with refused(r"unknown execution \['dense'\]"):
            chain_net(execution=["dense"])

    @pytest.mark.parametrize(
        ("method", "suggested"), [("greddy", "greedy"), ("exact ", "exact"), ("zzz", None), (None, None), (3, None)]
    )
    def test_unknown_methods_list_the_valid_ones(self, method, suggested):
        with refused(
            rf"unknown method {method!r}.*Valid methods: {', '.join(FACTORIZERS)}", weft.FactorizationError
        ) as e:
            chain_net(factorization=method)
        assert suggested is None or f"did you mean {suggested!r}?" in str(e.value)

    @pytest.mark.parametrize("what", ["outputs", "inputs", "context"])
    @pytest.mark.parametrize("value", [-1, 2.0, 0.5, True, False, "2", None, float("nan"), 1j], ids=repr)
    def test_counts_that_are_none(self, what, value):
        least = 0 if what == "context" else 1
        got = rf"^{what}.* is {re.escape(repr(value))}"
        with refused(rf"{got}, expected a whole number from {least} to 268,435,456\.$|{what} for 5"):
            chain_net(**{what: value})

    @pytest.mark.parametrize("what", ["outputs", "inputs"])
    def test_counts_of_zero(self, what):
        with refused(rf"^{what} is 0, expected a whole number from 1 to 268,435,456\.$"):
            chain_net(**{what: 0})

    @pytest.mark.parametrize("what", ["outputs", "inputs"])
    @pytest.mark.parametrize("value", [0, -1, 2.0, True, "2", None, [1]], ids=repr)
    def test_counts_of_a_list_name_the_variable(self, what, value):
        with refused(rf"^{what} of c is {re.escape(repr(value))}, expected a whole number from 1 to 268,435,456\.$"):
            chain_net(**{what: [1, 2, value, 1, 1]})

    @pytest.mark.parametrize("what", ["outputs", "inputs"])
    @pytest.mark.parametrize("length", [0, 1, 4, 6])
    def test_lists_of_another_length(self, what, length):
        with refused(rf"^expected {what} for 5 variables \(a, b, c, d, e\), got {length}\.$"):
            chain_net(**{what: [1] * length})

    @pytest.mark.parametrize("sizes", [(1, 2, 3, 1, 1), np.array([1, 2, 3, 1, 1]), range(1, 6), iter([1, 2, 3, 1, 1])])
    def test_lists_of_any_kind(self, sizes):
        net = chain_net(outputs=sizes)
        assert net.output_sizes in ((1, 2, 3, 1, 1), (1, 2, 3, 4, 5))
        assert all(type(size) is int for size in net.output_sizes)
        assert len(net.split(net(torch.zeros(2, 5)))) == 5

    def test_counts_of_any_kind(self):
        net = chain_net(outputs=np.int64(2), inputs=np.int32(2), context=np.int8(1))
        assert net(torch.zeros(3, 10), torch.zeros(3, 1)).shape == (3, 5, 2)

    @pytest.mark.parametrize(
        ("hidden", "message"),
        [
            (16, r"got the number 16 as the widths, expected one per hidden layer: \(16,\)"),
            (16.0, r'16.0, expected a sequence such as \(128, 128\), or "auto"'),
            ("automatic", "'automatic', expected a sequence"),
            (None, "None, expected a sequence"),
            ((0,), "hidden layer 1 is 0, expected a whole number"),
            ((16, -1), "hidden layer 2 is -1"),
            ((16, 16.0), "hidden layer 2 is 16.0"),
            ((True,), "hidden layer 1 is True"),
            (("16",), "hidden layer 1 is '16'"),
            ((None,), "hidden layer 1 is None"),
            ([[16]], r"hidden layer 1 is \[16\]"),
        ],
        ids=str,
    )
    def test_widths_that_are_none(self, hidden, message):
        with refused(message, weft.FactorizationError):
            weft.StrNN(CHAIN, hidden)

    @pytest.mark.parametrize("hidden", [(16, 20), (16,), (), (20, 20, 21)], ids=str)
    @pytest.mark.parametrize("execution", EXECUTIONS)
    def test_residual_needs_equal_widths(self, hidden, execution):
        expected = (
            rf"residual=True needs at least two hidden layers of equal width, got hidden={re.escape(str(hidden))}\."
        )
        with refused(expected):
            weft.StrNN(CHAIN, hidden, residual=True, execution=execution)

    @pytest.mark.parametrize(
        "dtype", [torch.int64, torch.bool, torch.complex64, torch.float8_e4m3fn, "float32", float], ids=str
    )
    def test_parameters_of_whole_numbers(self, dtype):
        valid = "torch.float16, torch.bfloat16, torch.float32, torch.float64"
        with refused(rf"^dtype is {re.escape(repr(dtype))}, expected one of {valid}\.$"):
            chain_net(dtype=dtype)


class TestStructures:
    @pytest.mark.parametrize(
        ("structure", "message"),
        [
            ([[0, 2], [1, 0]], "holds 2 .*row 0, column 1.*only 0 and 1"),
            ([[np.nan]], "holds nan"),
            ([[0.5]], "holds 0.5"),
            (torch.full((1, 1), torch.inf), "holds inf"),
            (np.zeros(3), r"shape \(3,\), expected a matrix of two dimensions"),
            (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\), expected a matrix"),
            ([[1], [1, 0]], "no matrix, expected rows of the same length"),
            (None, "NoneType, expected a weft.Graph"),
            ("a -> b", "str, expected a weft.Graph"),
            (nx.Graph([(0, 1)]), "undirected"),
        ],
        ids=str,
    )
    def test_what_is_none(self, structure, message):
        with refused(message, weft.GraphError):
            weft.StrNN(structure, (4,))

    def test_a_cycle_in_a_graph_is_printed(self):
        with refused("a -> b -> c -> a|b -> c -> a -> b|c -> a -> b -> c", weft.GraphError):
            weft.StrNN(weft.Graph.from_edges([("a", "b"), ("b", "c"), ("c", "a")]))


class TestWidthsTooSmall:
    @pytest.mark.parametrize("context", [0, 2])
    @pytest.mark.parametrize("hidden", [(1,), (2,), (1, 1), (8, 2)], ids=str)
    @pytest.mark.parametrize("method", ["greedy", "grouped", "exact", "zuko"])
    def test_the_edge_and_the_least_width_that_works_are_named(self, method, hidden, context):
        options = {"factorization": method, "context": context}
        with refused(r"[a-d] -> [b-e]|context -> [a-e]", weft.FactorizationError) as caught:
            weft.StrNN(CHAIN, hidden, **options)
        message = str(caught.value)
        least = int(re.search(r"at least (\d+)", message).group(1))
        uniform = [(width,) * len(hidden) for width in (least, least - 1)]
        assert weft.StrNN(CHAIN, uniform[0], **options).jacobian_structure().tolist() == CHAIN.adjacency().tolist()
        with refused(rf"at least {least}\b", weft.FactorizationError):
            weft.StrNN(CHAIN, uniform[1], **options)

    @pytest.mark.parametrize("method", ["greedy", "grouped", "zuko"])
    def test_the_default_widths_of_a_large_graph(self, method):
        with refused(r"at least \d{3}", weft.FactorizationError):
            weft.StrNN(weft.graph.chain(400), factorization=method)
        assert weft.StrNN(weft.graph.chain(400), "auto", factorization=method).structure.edges_count == 399

    def test_made_wants_a_full_graph(self):
        with refused("made", weft.FactorizationError):
            chain_net(factorization="made")


class TestFinishedFactorizations:
    @pytest.mark.parametrize(
        "other",
        [
            weft.graph.chain(4),
            weft.graph.full(5),
            weft.graph.star(5),
            np.ones((3, 5)),
            Structure.of(CHAIN).with_context(),
        ],
        ids=["smaller", "more edges", "other edges", "rectangular", "with context"],
    )
    def test_of_another_structure(self, other):
        f = weft.factorize(other, (40,))
        got = rf"shape {re.escape(str(f.structure.shape))} with {f.structure.edges_count} edges"
        expected = (
            rf"^the factorization is of a structure of {got}, expected shape \(5, 5\) with 4 edges\. Factorize the"
        )
        with refused(expected, weft.FactorizationError):
            weft.StrNN(CHAIN, factorization=f)

    def test_without_the_context(self):
        f = weft.factorize(CHAIN, (40,))
        message = (
            r"expected shape \(5, 6\) with 9 edges.*\(with context, weft.graph.Structure.of\(structure\).with_context"
        )
        with refused(message, weft.FactorizationError):
            weft.StrNN(CHAIN, factorization=f, context=3)
        f = weft.factorize(Structure.of(CHAIN).with_context(), (40,))
        assert weft.StrNN(CHAIN, factorization=f, context=3).factorization is f

    @pytest.mark.parametrize("hidden", [(40, 40), (41,), (), "auto", 40, None], ids=str)
    def test_of_other_widths(self, hidden):
        f = weft.factorize(CHAIN, (40,))
        expected = (
            rf"^hidden={re.escape(repr(hidden))}, but the factorization has the widths \(40,\); leave hidden out\.$"
        )
        with refused(expected, weft.FactorizationError):
            weft.StrNN(CHAIN, hidden, factorization=f)

    def test_of_other_widths_that_are_the_default(self):
        f = weft.factorize(CHAIN, (40,))
        with refused(r"^hidden=\[128, 128\], but the factorization has the widths", weft.FactorizationError):
            weft.StrNN(CHAIN, [128, 128], factorization=f)

    def test_of_these_widths(self):
        f = weft.factorize(CHAIN, (40,))
        for hidden in ((40,), [40], np.array([40])):
            assert weft.StrNN(CHAIN, hidden, factorization=f).factorization is f


class TestSplitting:
    @pytest.mark.parametrize("outputs", [[1, 2, 3, 1, 1], 1, 2])
    @pytest.mark.parametrize(
        "y", [torch.zeros(4, 7), torch.zeros(4, 3), torch.zeros(()), None], ids=lambda y: str(getattr(y, "shape", y))
    )
    def test_what_is_not_an_output(self, outputs, y):
        net = chain_net(outputs=outputs)
        last = ", ".join(map(str, net(torch.zeros(4, 5)).shape[1:]))
        got = "a NoneType" if y is None else f"shape {re.escape(str(tuple(y.shape)))}"
        with refused(rf"^expected the outputs of this network, of shape \(…, {last}\), got {got}\.$"):
            net.split(y)


def test_a_refused_input_changes_nothing():
    net = network("greedy", context=1)
    x, context = torch.zeros(2, 9, dtype=torch.float64), torch.zeros(2, 1, dtype=torch.float64)
    before = net(x, context)
    with refused("expected 9 columns"):
        net(x[:, :3], context)
    assert torch.equal(net(x, context), before)
