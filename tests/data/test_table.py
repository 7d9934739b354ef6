"""Tables become tensors by the names of their columns, and say what is wrong with them."""

import numpy as np
import pandas as pd
import pytest
import torch

from weft.data import read_table

NAMES = ["age", "dose", "ward"]
EXPECTED = torch.tensor([[40.0, 1.5, 0.0], [50.0, 2.0, 1.0]])


def frame():
    return pd.DataFrame({"ward": [0, 1], "id": ["a", "b"], "dose": [1.5, 2.0], "age": [40, 50]})


def test_a_frame_is_read_by_name():
    assert torch.equal(read_table(frame(), NAMES), EXPECTED)
    assert torch.equal(read_table(frame(), ["dose"]), EXPECTED[:, 1:2])
    assert torch.equal(read_table(frame(), ["dose", "dose"]), EXPECTED[:, [1, 1]])


@pytest.mark.parametrize(
    "array",
    [
        EXPECTED.numpy(),
        EXPECTED.numpy().astype(">f4"),
        EXPECTED.numpy().astype(np.float16),
        np.asfortranarray(EXPECTED.numpy()),
        np.flip(np.flip(EXPECTED.numpy()).copy()),
        EXPECTED.tolist(),
        tuple(map(tuple, EXPECTED.tolist())),
        EXPECTED.double(),
        EXPECTED.clone().requires_grad_(),
    ],
    ids=["array", "big-endian", "half", "columns first", "backwards", "lists", "tuples", "double", "gradient"],
)
def test_arrays_have_exactly_the_columns(array):
    read = read_table(array, NAMES)
    assert torch.equal(read, EXPECTED)
    assert not read.requires_grad


@pytest.mark.parametrize("kind", ["int8", "int64", "uint8", "uint16", "uint32", "bool", "float32"])
def test_numbers_of_every_type(kind):
    array = np.array([[0, 1], [1, 1]], dtype=kind)
    expected = torch.tensor([[0.0, 1.0], [1.0, 1.0]])
    assert torch.equal(read_table(array, "ab"), expected)
    assert torch.equal(read_table(pd.DataFrame(array, columns=["a", "b"]), "ab"), expected)
    assert torch.equal(read_table(torch.tensor(array.tolist()), "ab"), expected)


@pytest.mark.parametrize("kind", ["Int64", "UInt8", "boolean", "Float32", "int64[pyarrow]", "bool[pyarrow]"])
def test_nullable_columns(kind):
    table = pd.DataFrame({"a": pd.array([1, None, 0], dtype=kind), "b": [0.5, 1.5, np.nan]})
    read = read_table(table, ["a", "b"])
    assert torch.equal(read.nan_to_num(9), torch.tensor([[1, 0.5], [9, 1.5], [0, 9]]))
    assert torch.equal(read_table(table.iloc[:1], ["a"]), torch.ones(1, 1))


def test_read_only_arrays_are_copied_and_others_are_not():
    array = EXPECTED.numpy().copy()
    array.flags.writeable = False
    assert torch.equal(read_table(array, NAMES), EXPECTED)
    tensor = EXPECTED.clone()
    assert read_table(tensor, NAMES).data_ptr() == tensor.data_ptr()


def test_types_and_devices():
    assert read_table(frame(), NAMES).dtype == torch.get_default_dtype()
    assert read_table(frame(), NAMES, torch.float64).dtype == torch.float64
    assert read_table(frame(), NAMES, device="meta").device.type == "meta"
    large = 2**40 + 1  # more than single precision holds
    assert read_table([[large]], "a", torch.float64).item() == large


def test_names_need_not_be_strings():
    table = pd.DataFrame({0: [1.0], "1": [2.0], ("a", 1): [3.0]})
    assert read_table(table, [("a", 1), 0, 1]).tolist() == [[3.0, 1.0, 2.0]]
    both = pd.DataFrame([[1.0, 2.0]], columns=["1", 1])
    assert read_table(both, [1]).item() == 2.0  # the name itself goes first


def test_no_columns():
    assert read_table(frame(), []).shape == (2, 0)
    assert read_table(np.zeros((2, 0)), []).shape == (2, 0)


def test_a_name_that_is_no_string_is_also_looked_for_as_it_is_written():
    assert read_table(pd.DataFrame({"3": [1.0], "id": [2.0]}), [3]).tolist() == [[1.0]]


def test_a_column_that_is_not_asked_for_may_be_there_twice():
    twice = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["id", "id", "age"])
    assert read_table(twice, ["age"]).tolist() == [[3.0]]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (frame().drop(columns="dose"), r"the rows has no column 'dose'; it has 'ward', 'id', 'age'\."),
        (frame().rename(columns={"dose": "doses"}), r"has no column 'dose' \(did you mean 'doses'\?\)"),
        (frame()[["id"]], "has no column 'age', 'dose', 'ward'"),
        (pd.DataFrame(), r"has no column 'age', 'dose', 'ward'; it has none\."),
        (pd.concat([frame(), frame()], axis=1), "the rows has two columns '(age|dose|ward)', expected one"),
        (
            frame().assign(dose=["low", "high"]),
            r"column 'dose' of the rows has the type .* \(such as 'low'\), expected",
        ),
        (frame().assign(dose=pd.Categorical([1, 2])), "column 'dose' of the rows has the type category"),
        (frame().assign(dose=[1j, 2]), "column 'dose' of the rows has the type complex128"),
        (frame().assign(dose=pd.NaT), r"column 'dose' of the rows has the type datetime64.* \(such as nothing\)"),
        (frame().iloc[:0], "the rows has no rows"),
        (np.zeros((2, 2)), r"the rows has the shape \(2, 2\), expected \(rows, 3\): age, dose, ward"),
        (torch.zeros(3), r"the rows has the shape \(3,\)"),
        (torch.zeros(0, 3), "the rows has no rows"),
        (torch.zeros(2, 3, dtype=torch.complex64), "the rows has complex numbers, expected real ones"),
        (np.zeros((2, 3), dtype=complex), "of the type ndarray, expected a DataFrame"),
        (np.array([["a", "b", "c"]]), "of the type ndarray, expected a DataFrame, a tensor or an array of numbers"),
        ([[1, 2, 3], [4, 5]], "the rows is no table of numbers"),
        ("rows.csv", "the rows is 'rows.csv' of the type str, expected a DataFrame"),
        (None, "the rows is None of the type NoneType"),
    ],
    ids=[str(number) for number in range(19)],
)
def test_what_is_wrong_with_a_table(table, message):
    with pytest.raises(ValueError, match=message):
        read_table(table, NAMES, what="the rows")
