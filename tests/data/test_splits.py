"""Rows in three parts: each in one of them, the same for the same seed."""

import math

import numpy as np
import pandas as pd
import pytest
import torch

import weft
from weft.data import BinaryNetwork, Splits, split
from weft.graph import chain

ROWS = torch.arange(60.0).reshape(20, 3)


def test_every_row_is_in_one_part():
    parts = split(ROWS, validation=0.25, test=0.1)
    assert [len(part) for part in (parts.train, parts.validation, parts.test)] == [13, 5, 2]
    together = torch.cat([parts.train, parts.validation, parts.test])
    assert torch.equal(together[together[:, 0].argsort()], ROWS)
    assert not torch.equal(together, ROWS)
    assert parts.graph is None


def test_the_seed_decides():
    first, again, other = (split(ROWS, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(first.train, again.train)
    assert torch.equal(first.test, again.test)
    assert not torch.equal(first.test, other.test)


def test_test_rows_do_not_depend_on_the_validation():
    assert torch.equal(split(ROWS, validation=3, test=5).test, split(ROWS, validation=0.5, test=5).test)


def test_numbers_of_rows():
    parts = split(np.zeros((2500, 15)), validation=400, test=500)
    assert repr(parts) == "Splits(1600 rows to train, 400 to validate, 500 to test, 15 columns)"
    nothing = split(ROWS, validation=0, test=0)
    assert (len(nothing.train), nothing.validation.shape, nothing.test.shape) == (20, (0, 3), (0, 3))


@pytest.mark.parametrize("rows", [ROWS.double(), ROWS.int(), ROWS.numpy(), ROWS.tolist()])
def test_any_table_becomes_float32(rows):
    parts = split(rows)
    assert parts.train.dtype == parts.validation.dtype == parts.test.dtype == torch.float32
    assert torch.equal(parts.train, split(ROWS).train)


def test_a_frame_needs_a_graph_that_says_the_order_of_its_columns():
    with pytest.raises(ValueError, match="rows is a DataFrame, so its columns have names: pass graph="):
        split(pd.DataFrame(ROWS.numpy()))


def test_a_table_is_read_by_the_names_of_the_graph():
    table = pd.DataFrame({"x2": range(10), "id": "a", "x0": 100, "x1": 200})
    parts = split(table, graph=chain(3))
    assert parts.graph == chain(3)
    assert parts.train[:, :2].unique(dim=0).tolist() == [[100, 200]]


def test_a_graph_goes_with_the_rows():
    truth = BinaryNetwork.draw(chain(3), seed=0)
    parts = split(truth.sample(50, seed=1), graph=truth.graph)
    assert parts.graph is truth.graph
    assert repr(parts).endswith("10 to test, 3 columns, Graph(3 nodes, 2 edges, depth 2: x0, x1, x2))")


def test_the_parts_do_not_share_memory_with_the_rows():
    rows = ROWS.clone()
    parts = split(rows)
    rows.zero_()
    assert parts.train.sum() > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"validation": 0.5, "test": 0.5}, "10 validation and 10 test rows of 20 leave none to train on"),
        ({"validation": 30}, "30 validation and 4 test rows of 20 leave none"),
        ({"validation": 0.01}, r"validation is 0\.01 of 20 rows, which is none"),
        ({"test": 1.0}, r"test is 1\.0, expected a share from 0 to below 1, or a whole number of rows"),
        ({"test": -1}, "test is -1, expected a share"),
        ({"test": math.nan}, "test is nan, expected a share"),
        ({"validation": True}, "validation is True, expected a share"),
        ({"validation": None}, "validation is None, expected a share"),
        ({"seed": -1}, "seed is -1, expected a whole number"),
        ({"graph": chain(4)}, r"rows has the shape \(20, 3\), expected \(rows, 4\)"),
    ],
    ids=str,
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        split(ROWS, **arguments)


@pytest.mark.parametrize("rows", [torch.zeros(3), torch.zeros(2, 3, 4), 3.0, None])
def test_wrong_shapes(rows):
    with pytest.raises(ValueError, match=r"rows has the shape .*, expected \(rows, columns\)"):
        split(rows)


def test_no_rows():
    with pytest.raises(ValueError, match="rows has no rows"):
        split(torch.zeros(0, 3))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((ROWS, ROWS, ROWS[:, :2]), r"train, validation and test have \[3, 3, 2\] columns"),
        ((ROWS, ROWS[0], ROWS), r"validation has the shape \(3,\), expected a tensor \(rows, columns\)"),
        ((ROWS.numpy(), ROWS, ROWS), r"train has the type ndarray, expected a tensor"),
        ((ROWS, ROWS, ROWS, weft.Graph.from_edges([("a", "b")])), "the rows have 3 columns and the graph 2 nodes"),
    ],
    ids=["columns", "shape", "type", "graph"],
)
def test_parts_that_do_not_fit(parts, message):
    with pytest.raises(ValueError, match=message):
        Splits(*parts)


def test_the_type_is_as_asked():
    x = 1e9 + torch.arange(20, dtype=torch.float64).reshape(10, 2)
    parts = split(x, validation=2, test=2, dtype=torch.float64)
    assert torch.equal(torch.cat([parts.train, parts.validation, parts.test]).sort(dim=0).values, x)
    assert split(x).train.dtype == torch.float32
