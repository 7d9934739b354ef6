"""The errors themselves: where they come from, what they offer, and where a warning points."""

import pickle
import traceback
import warnings

import pytest

import weft
from weft._arguments import check_number, check_whole, check_word
from weft._errors import cut, suggest


@pytest.mark.parametrize("kind", [weft.GraphError, weft.GraphWarning, weft.FactorizationError])
def test_errors_go_by_their_public_name_and_can_be_pickled(kind):
    copied = pickle.loads(pickle.dumps(kind("what")))
    assert type(copied) is kind
    assert copied.args == ("what",)
    assert traceback.format_exception_only(copied) == [f"weft.{kind.__name__}: what\n"]


def test_a_suggestion_can_stand_before_a_full_stop():
    assert f"no dise{suggest('dise', ['dose', 'age'])}." == "no dise (did you mean 'dose'?)."
    assert suggest("zzz", ["dose", "age"]) == ""


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("dose", "dose"),
        ("two\n lines", "two lines"),
        (("a", 1), "('a', 1)"),
        ("", "''"),
        (" ", "' '"),
        ("\ufeff", r"'\ufeff'"),
        ("\u200b", r"'\u200b'"),
        ("\xad", r"'\xad'"),
        ("\u2060", r"'\u2060'"),
        ("\ud800", r"'\ud800'"),
        ("n" * 24, "n" * 24),
        ("n" * 25, "n" * 23 + "…"),
    ],
)
def test_a_name_is_cut_to_something_to_see(name, written):
    assert cut(name) == written


def test_arguments_are_refused_with_the_error_of_the_room():
    with pytest.raises(weft.FactorizationError, match=r"^seed is -1, expected a whole number of at least 0\.$"):
        check_whole("seed", -1, error=weft.FactorizationError)
    with pytest.raises(weft.FactorizationError, match=r"^share is 2, expected a number from 0 to 1\.$"):
        check_number("share", 2, most=1, error=weft.FactorizationError)
    with pytest.raises(
        weft.FactorizationError, match=r"^way is 'upp', expected 'up' or 'down' \(did you mean 'up'\?\)"
    ):
        check_word("way", "upp", "up", "down", error=weft.FactorizationError)


@pytest.mark.parametrize(
    "call",
    [
        lambda: weft.Graph.from_adjacency([[0, 1], [0, 0]]),
        lambda: weft.graph.Structure.of([[0, 1], [0, 0]]),
        lambda: weft.factorize([[0, 1], [0, 0]], (2,)),
        lambda: weft.Graph.from_text("dag { a [latent]; a -> b }"),
    ],
    ids=["matrix", "structure", "factorize", "text"],
)
def test_a_warning_points_at_the_caller(call):
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        call()
    assert [(each.category, each.filename) for each in met] == [(weft.GraphWarning, __file__)]
