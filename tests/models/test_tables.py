"""How the kinds of a table are read, and that its heads together are each head alone."""

import copy
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.func import vmap

from weft.models import KINDS, Binary, Categorical, Gaussian, Heads, Ordinal, Poisson, read_kinds

from .cases import HEADS, generator

# Kinds


def test_kinds_by_word_and_by_name():
    assert read_kinds("binary", "ab") == (Binary(), Binary())
    assert read_kinds(Categorical(3), ["a"]) == (Categorical(3),)
    assert read_kinds({"b": "count", "a": Ordinal(4)}, ["a", "b"]) == (Ordinal(4), Poisson())
    assert read_kinds("binary", []) == read_kinds({}, []) == ()
    assert all(read_kinds(word, ["a"]) == (head,) for word, head in KINDS.items())


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ("gausian", r"the kind is 'gausian' \(did you mean 'gaussian'\?\); expected one of binary, gaussian"),
        ("Binary", r"did you mean 'binary'\?"),
        ({"a": "binary", "b": "counts"}, r"the kind of 'b' is 'counts' \(did you mean 'count'\?\)"),
        ({"a": "binary", "b": None}, "the kind of 'b' is None"),
        (["binary", "binary"], r"the kind is \['binary', 'binary'\]; .*; or a mapping"),
        (Binary, r"the kind is <class .*Binary'> \(a class: pass Binary\(…\)\); expected"),
        (3, "the kind is 3"),
        ("categorical", r"the kind is 'categorical', which needs its number of levels.*Categorical\(levels=3\)"),
        ({"a": "ordinal", "b": "binary"}, r"the kind of 'a' is 'ordinal', which.*Ordinal\(levels=3\)"),
        ({"a": "binary"}, "kinds says nothing of b; expected a kind for every variable"),
        ({}, "kinds says nothing of a, b"),
        ({"a": "binary", "b": "binary", "bb": "binary"}, r"kinds names 'bb', which is not a variable \(did you mean"),
    ],
    ids=str,
)
def test_kinds_that_cannot_be_read(kinds, message):
    with pytest.raises(ValueError, match=message):
        read_kinds(kinds, ["a", "b"])


# Tables


def alone(heads, x, flat):
    """Say what every head makes of its own column and parameters."""
    columns, thetas = x.split(1, dim=-1), flat.split([head.parameters for head in heads], dim=-1)
    return [(head, x, theta.unsqueeze(-2)) for head, x, theta in zip(heads, columns, thetas, strict=True)]


def table(heads, *rows, dtype=torch.float64):
    flat = torch.randn(*rows, sum(h.parameters for h in heads), generator=generator(1), dtype=torch.float64).to(dtype)
    return Heads(heads).sample(flat, generator(2)), flat


@given(st.lists(st.sampled_from(list(HEADS.values())), min_size=1, max_size=8))
@settings(derandomize=True, database=None, deadline=None, max_examples=60)
def test_a_table_is_each_head_alone(heads):
    x, flat = table(heads, 6)
    together, pieces = Heads(heads), alone(heads, x, flat)
    terms = torch.cat([head.log_prob(x, theta) for head, x, theta in pieces], dim=-1)
    torch.testing.assert_close(together.log_prob(x, flat), terms, rtol=1e-12, atol=1e-12)
    features = torch.cat([head.encode(x).squeeze(-2) for head, x, _ in pieces], dim=-1)
    torch.testing.assert_close(together.encode(x), features, rtol=1e-12, atol=1e-12)
    assert together.valid(x).dtype == torch.bool
    assert bool(together.valid(x).all())
    bad = x - 0.25
    assert torch.equal(
        together.valid(bad), torch.cat([head.valid(x) for head, x, _ in alone(heads, bad, flat)], dim=-1)
    )


@pytest.mark.parametrize("seed", range(3))
def test_samples_of_a_table_are_each_heads_own(seed):
    heads = [list(HEADS.values())[i] for i in np.random.default_rng(seed).integers(len(HEADS), size=12)]
    x, flat = table(heads, 50)
    source = generator(2)
    for head in dict.fromkeys(heads):
        where = [i for i, other in enumerate(heads) if other == head]
        theta = torch.cat([alone(heads, x, flat)[i][2] for i in where], dim=-2)
        assert torch.equal(x[:, where], head.generate(head.draw(theta[..., 0], source), theta))


@pytest.mark.parametrize("rows", [(), (0,), (4,), (2, 3)], ids=str)
@pytest.mark.parametrize("heads", [[], [Binary()], list(HEADS.values())], ids=["none", "one", "all"])
def test_shapes_of_a_table(heads, rows):
    x, flat = table(heads, *rows)
    together = Heads(heads)
    assert together.log_prob(x, flat).shape == x.shape == (*rows, len(heads))
    assert together.encode(x).shape == (*rows, sum(head.features for head in heads))
    assert together.valid(x).shape == x.shape
    assert together.valid(x).dtype == torch.bool


def test_vmap_over_a_table():
    heads = list(HEADS.values())
    x, flat = table(heads, 5)
    torch.testing.assert_close(vmap(Heads(heads).log_prob)(x, flat), Heads(heads).log_prob(x, flat))


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda heads: pickle.loads(pickle.dumps(heads))], ids=["deep", "pickle"]
)
def test_copies_of_a_table(copied):
    heads = [*reversed(HEADS.values()), Binary()]
    x, flat = table(heads, 5)
    twin = copied(Heads(heads))
    assert twin.each == tuple(heads)
    assert torch.equal(twin.log_prob(x, flat), Heads(heads).log_prob(x, flat))
    assert not twin.state_dict()


def test_a_table_in_32_bits():
    heads = [Binary(), Gaussian(), Binary(), Categorical(3), Poisson()]
    x, flat = table(heads, 20, dtype=torch.float32)
    together = Heads(heads).to(torch.float32)
    assert together.log_prob(x, flat).dtype == together.encode(x).dtype == x.dtype == torch.float32
    precise = Heads(heads).to(torch.float64).log_prob(x.double(), flat.double())
    torch.testing.assert_close(together.log_prob(x, flat).double(), precise, rtol=1e-5, atol=1e-5)


def test_a_table_shows_its_heads():
    shown = repr(Heads([Binary(), Categorical(3), Binary()]))
    assert shown.index("Binary()") < shown.index("Categorical(levels=3)")
