"""A network shows its structure, how it was factorized and what it costs, in a few short lines."""

import pytest
import torch

import weft

from .cases import EXECUTIONS, OPTIONS, STRUCTURES, network


def test_a_dense_network():
    net = weft.StrNN(weft.graph.chain(3), (4, 4), execution="dense", activation="tanh")
    assert repr(net).splitlines() == [
        "StrNN(",
        "  3 variables -> 3 variables, 2 edges, hidden=(4, 4), factorization='greedy', execution='dense', 16 weights",
        "  (layers): ModuleList(",
        "    (0): MaskedLinear(3 -> 4, 4 of 12 weights, bias=True)",
        "    (1): MaskedLinear(4 -> 4, 8 of 16 weights, bias=True)",
        "    (2): MaskedLinear(4 -> 3, 4 of 12 weights, bias=True)",
        "  )",
        "  (activations): ModuleList(",
        "    (0-1): 2 x Tanh()",
        "  )",
        ")",
    ]


def test_a_sparse_network():
    net = weft.StrNN(weft.graph.chain(3), (4, 4), execution="sparse", bias=False)
    assert "execution='sparse', 16 weights" in repr(net)
    assert "(0): BlockLinear(3 -> 4, 4 weights in 2 blocks of 1 shapes, bias=False)" in repr(net)
    assert "(2): BlockLinear(4 -> 3, 4 weights in 3 blocks of 2 shapes, bias=False)" in repr(net)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("execution", EXECUTIONS)
def test_every_option(execution, options):
    net = network("grouped", execution=execution, **options)
    shown = net.extra_repr()
    kept = sum(mask.nnz for mask in net.expanded_masks())
    for part in (
        "9 variables -> 9 variables",
        "14 edges",
        "factorization='grouped'",
        f"'{execution}'",
        f"{kept:,} weigh",
    ):
        assert part in shown
    assert ("context=" in shown) == ("context" in options)


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("execution", EXECUTIONS)
def test_every_structure_is_shown_in_short(name, execution):
    shown = repr(network("greedy", name, execution=execution, residual=True))
    assert len(shown.splitlines()) <= 16
    assert max(map(len, shown.splitlines())) <= 140
    assert "\n  \n" not in shown


def test_a_large_network_is_shown_in_short():
    shown = repr(weft.StrNN(weft.graph.chain(3000), "auto"))
    assert len(shown) < 800
    assert "3000 variables -> 3000 variables, 2999 edges" in shown


def test_a_network_without_values():
    net = weft.StrNN(weft.graph.chain(3), (4,), device="meta", execution="sparse")
    assert "4 weights in 2 blocks" in repr(net)


def test_a_dense_network_without_values():
    net = weft.StrNN(weft.graph.chain(3), (4,), device="meta", execution="dense")
    assert "4 of 12 weights" in repr(net)


@pytest.mark.parametrize("execution", EXECUTIONS)
def test_showing_changes_nothing(execution):
    net = network("greedy", execution=execution)
    before = torch.random.get_rng_state()
    assert repr(net) == repr(net)
    assert torch.equal(before, torch.random.get_rng_state())
