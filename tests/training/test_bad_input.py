"""What is wrong with rows or arguments is said before a step is made, with its place and what mends it."""

from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from torch.optim import Adam
from torch.utils.data import DataLoader, TensorDataset

import weft
from weft.models import Categorical

from .cases import GRAPH, make, rows_for, weights_of

NODES = GRAPH.nodes


def refused(message, train=None, validation=0.2, name="mixed", model=None, **options):
    """The call raises, and the weights of the model are as they were."""
    model = make(name) if model is None else model
    before = weights_of(model)
    with pytest.raises(ValueError, match=message):
        weft.fit(model, rows_for(name)[0] if train is None else train, validation, **options)
    weights = {each: tensor for each, tensor in weights_of(model).items() if each not in ("shift", "scale", "settled")}
    assert all(torch.equal(tensor, before[each]) for each, tensor in weights.items())


def with_value(column, row, value, name="mixed"):
    x, _ = rows_for(name)
    x[row, NODES.index(column)] = value
    return x


def to_file(x, path, **options):
    pd.DataFrame(np.asarray(x), columns=list(NODES)).to_parquet(path, **options)
    return path


# Rows

VALUES = [
    ("age", 2.0, "got 2, expected 0 or 1"),
    ("ward", 3.0, "got 3, expected a whole number from 0 to 2"),
    ("visits", -1.0, "got -1, expected a count"),
    ("visits", 0.5, r"got 0\.5, expected a count"),
    ("dose", float("inf"), "got inf, expected a finite number"),
    ("dose", float("nan"), "got nan, expected a finite number"),
    ("age", float("nan"), "got nan, expected 0 or 1"),
]


@pytest.mark.parametrize(("column", "value", "message"), VALUES)
class TestValues:
    """A value that the model has no density for: out of range, a new category, infinite or missing."""

    def test_in_a_table(self, column, value, message):
        bad = with_value(column, 17, value)
        refused(f"train: column '{column}', row 17: {message}", bad)
        refused(f"train: column '{column}', row 17: {message}", pd.DataFrame(bad.numpy(), columns=list(NODES)))
        refused(f"validation: column '{column}', row 17: {message}", validation=bad)

    def test_in_a_loader(self, column, value, message):
        bad = DataLoader(with_value(column, 17, value), batch_size=10)
        refused(f"batch 1 of train: column '{column}', row 7: {message}", bad, None)
        refused(f"batch 1 of train: column '{column}', row 7: {message}", bad, None, standardize=False)
        refused(f"batch 1 of validation: column '{column}', row 7: {message}", validation=bad)

    def test_in_a_file(self, column, value, message, tmp_path):
        path = to_file(with_value(column, 17, value), tmp_path / "rows.parquet", row_group_size=10)
        refused(rf"row group 1 of '.*rows\.parquet': column '{column}', row 7: {message}", path)
        refused(rf"row group 1 of '.*rows\.parquet': column '{column}', row 7: {message}", validation=path)


def test_context_that_is_not_finite(tmp_path):
    x, context = rows_for("context")
    context[5, 1] = torch.nan
    message = "column 1 of the context, row 5: got nan, expected a finite number"
    refused(f"train: {message}", x, name="context", context=context)
    good = rows_for("context")[1]
    refused(f"validation: {message}", x, x, "context", context=good, validation_context=context)
    refused(f"batch 0 of train: {message}", DataLoader(TensorDataset(x, context), batch_size=60), None, "context")
    frame = pd.DataFrame(x.numpy(), columns=list(NODES)).assign(a=context[:, 0].numpy(), b=context[:, 1].numpy())
    frame.to_parquet(tmp_path / "rows.parquet")
    refused(f"row group 0 of '.*': {message}", tmp_path / "rows.parquet", name="context", context=["a", "b"])


def test_constant_columns(tmp_path):
    bad = with_value("dose", slice(None), 3.0)
    message = r"column 'dose' is constant in the training rows \(3\)"
    refused(message, bad)
    refused(message, DataLoader(bad, batch_size=10), None)
    refused(message, to_file(bad, tmp_path / "rows.parquet"))
    constant = with_value("age", slice(None), 1.0)  # of a discrete column that is a frequency like any other
    assert len(weft.fit(make("mixed"), constant, epochs=2).history) == 2


@pytest.mark.parametrize("column", ["dose", "age"])
def test_columns_without_any_value(column, tmp_path):
    bad = with_value(column, slice(None), torch.nan, "missing")
    message = f"column '{column}' of train has no value at all; leave the variable out of the graph"
    refused(message, bad, name="missing")
    refused(message, pd.DataFrame(bad.numpy(), columns=list(NODES)).astype("Float64"), name="missing")
    refused(message, to_file(bad, tmp_path / "rows.parquet"), name="missing")
    refused(message.replace("train", "validation"), None, bad, "missing")


def test_fewer_rows_than_a_batch(tmp_path):
    refused(
        "batch_size is 61, but train has 60 rows; pass batch_size=60 or less, or leave it out",
        None,
        None,
        batch_size=61,
    )
    refused("batch_size is 49, but train without the 12 rows for validation has 48 rows", batch_size=49)
    path = to_file(rows_for("mixed")[0], tmp_path / "rows.parquet")
    refused("batch_size is 61, but train has 60 rows", path, None, batch_size=61)
    few, _ = rows_for("mixed", n=7)
    assert len(weft.fit(make("mixed"), few, few[:2], epochs=1, batch_size=7).history) == 1
    assert len(weft.fit(make("mixed"), few, few[:2], epochs=1).history) == 1  # the default gives way


def test_an_empty_validation(tmp_path):
    refused(r"validation=0\.001 sets 0 of 60 rows apart, expected at least one for validation", None, 0.001)
    refused(r"validation=0\.999 sets 60 of 60 rows apart, expected at least one", None, 0.999)
    refused("validation has no rows", None, torch.zeros(0, 4))
    refused("validation is a DataLoader that gave no batch", None, DataLoader([], batch_size=2))
    path = to_file(rows_for("mixed")[0], tmp_path / "rows.parquet")
    refused(r"validation=1e-09 sets 0 of 60 rows apart, expected at least one", path, 1e-9)


@pytest.mark.parametrize("share", [0, 1, 0.0, 1.0, -0.1, 1.5, 20, float("nan"), np.float64(2)])
def test_a_share_that_is_none(share):
    refused(f"validation is .*{share:g}.*, expected a share between 0 and 1, a table, or None", None, share)


TABLES = [
    (torch.zeros(0, 4), "train has no rows"),
    (pd.DataFrame(columns=list(NODES), dtype=float), "train has no rows"),
    (torch.zeros(4), r"train has the shape \(4,\), expected \(rows, 4\): dose, age, visits, ward"),
    (torch.zeros(5, 3), r"train has the shape \(5, 3\), expected \(rows, 4\)"),
    (torch.zeros(2, 5, 4), r"train has the shape \(2, 5, 4\)"),
    (np.zeros((5, 5)), r"train has the shape \(5, 5\)"),
    (
        np.array([["a", "b", "c", "d"]]),
        "train is array.* of the type ndarray, expected a DataFrame, a tensor or an array",
    ),
    (torch.zeros(5, 4, dtype=torch.complex64), "train has complex numbers, expected real ones"),
    ([[1, 2], [3]], "train is no table of numbers"),
    ([], r"train has the shape \(0,\)"),
    (3, r"train has the shape \(\)"),
    ({"dose": [1]}, "train is {'dose': .* of the type dict"),
]


@pytest.mark.parametrize(("table", "message"), TABLES, ids=[str(number) for number in range(len(TABLES))])
def test_tables(table, message):
    refused(message, table)
    if not isinstance(table, int):  # which would be a share
        refused(message.replace("train", "validation"), validation=table)


def test_no_table():
    with pytest.raises(
        ValueError, match="train is None of the type NoneType, expected a DataFrame, a tensor or an array"
    ):
        weft.fit(make(), None)


def test_frames():
    frame = pd.DataFrame(rows_for("mixed")[0].numpy(), columns=list(NODES))
    refused(r"train has no column 'age'; it has 'dose', 'visits', 'ward'", frame.drop(columns="age"))
    renamed = frame.rename(columns={"visits": "visit"})
    refused(r"train has no column 'visits' \(did you mean 'visit'\?\)", renamed)
    refused("validation has no column 'age'", validation=frame.drop(columns="age"))
    twice = pd.concat([frame, frame[["ward"]]], axis=1)
    refused("train has two columns 'ward', expected one", twice)
    words = frame.astype({"ward": int}).replace({"ward": {0: "north", 1: "south", 2: "west"}})
    refused(
        r"column 'ward' of train has the type (object|str).* \(such as '\w+'\), expected numbers; write levels as",
        words,
    )
    refused("column 'dose' of train has the type datetime64", frame.assign(dose=pd.Timestamp(0)))


def test_files(tmp_path):
    x, _ = rows_for("mixed")
    frame = pd.DataFrame(x.numpy(), columns=list(NODES))
    path = tmp_path / "rows.parquet"
    frame.drop(columns="age").to_parquet(path)
    refused(r"row group 0 of '.*rows\.parquet' has no column 'age'; it has 'dose', 'visits', 'ward'", path)
    refused(r"row group 0 of '.*rows\.parquet' has no column 'age'", validation=path)
    frame.rename(columns={"visits": "visit"}).to_parquet(path)
    refused(r"row group 0 of '.*' has no column 'visits'", path)
    frame.assign(ward="north").to_parquet(path)
    refused(r"column 'ward' of row group 0 of '.*rows\.parquet' has the type str.*, expected numbers", path)
    frame.iloc[:0].to_parquet(path)
    refused("train has no rows", path)
    pq.write_table(pa.table([pa.array([1.0])] * 5, names=[*NODES, "ward"]), path)
    refused(r"row group 0 of '.*' has two columns 'ward'", path)
    good = to_file(x, tmp_path / "good.parquet")
    refused(r"there is no file '.*none\.parquet'", tmp_path / "none.parquet")
    refused(r"there is no file '.*none\.parquet'", [good, tmp_path / "none.parquet"])
    (tmp_path / "text.parquet").write_text("a,b\n1,2\n")
    refused(r"'.*text\.parquet' is no Parquet file", tmp_path / "text.parquet")
    refused("is no Parquet file", tmp_path)
    frame.drop(columns="age").to_parquet(path)
    refused(r"row group 0 of '.*rows\.parquet' has no column 'age'", [good, path])


def test_a_variable_that_never_comes_with_its_parents():
    x, _ = rows_for("missing")
    child = next(name for name in NODES if GRAPH.parents(name))
    parent = GRAPH.parents(child)[0]
    x[::2, NODES.index(child)], x[1::2, NODES.index(parent)] = torch.nan, torch.nan
    refused(f"column '{child}' of train has no value in a row that also has '{parent}'", x, name="missing")


def outcomes(rows, share):
    """What becomes of fits with several seeds: 'fitted', or the message."""
    found = set()
    for seed in range(8):
        try:
            weft.fit(make("missing"), rows, share, epochs=1, seed=seed)
            found.add("fitted")
        except ValueError as error:
            found.add(str(error))
    return found


def test_a_share_may_leave_nothing_to_train_a_factor_on():
    x, _ = rows_for("missing")
    x[:, NODES.index("age")] = torch.nan
    x[0, NODES.index("age")] = 1.0  # this row trains for some seeds, and validates for others
    x[0, NODES.index("dose")] = 0.0
    found = outcomes(x, 0.5)
    assert "fitted" in found
    [message] = found - {"fitted"}
    assert message.startswith("column 'age' of train without the 30 rows for validation has no value")


def test_a_share_may_leave_nothing_to_validate():
    x = torch.full_like(rows_for("missing")[0], torch.nan)
    x[:20] = rows_for("missing")[0][:20]
    found = outcomes(x, 0.02)  # one row
    assert "fitted" in found
    [message] = found - {"fitted"}
    assert message == "none of the 1 rows for validation has a variable with all its parents; pass a larger share."


def test_loaders():
    x, context = rows_for("context")
    pairs, rows = DataLoader(TensorDataset(x, context), batch_size=30), DataLoader(x, batch_size=30)
    refused(r"batch 0 of train is \['Tensor', 'Tensor'\], expected a tensor of rows", pairs, None)
    refused(r"batch 0 of train is \['Tensor'\], expected a pair of rows and context", rows, None, "context")
    refused("batch 0 of train is .*'str'", DataLoader(["a", "b"]), None)
    refused("train is a DataLoader that gave no batch", DataLoader([], batch_size=3), None)
    refused(r"batch 0 of train has a tensor of the shape \(1, 3\), expected \(rows, 4\)", DataLoader(x[:, :3]), None)
    refused(r"validation is the share 0\.2, but a DataLoader cannot be split: pass another", rows)
    refused(r"batch 0 of train has a tensor of the shape \(4,\)", DataLoader(x, batch_size=None), None)
    refused(
        "train is a DataLoader, so its context comes with its batches, as pairs",
        pairs,
        x,
        "context",
        context=context,
        validation_context=context,
    )
    refused("batch_size is 7, but train is a DataLoader, which has its own; leave it out", rows, None, batch_size=7)


def test_context(tmp_path):
    x, context = rows_for("context")
    refused(r"the model has 2 columns of context, but train has none: pass context= with 2", x, name="context")
    refused(
        "the model has 0 columns of context, but train has 2 columns: make the model with context=2",
        x,
        context=pd.DataFrame(context.numpy()),
    )
    refused(
        "the model has 2 columns of context, but validation has none: pass validation_context= with 2",
        x,
        x,
        "context",
        context=context,
    )
    refused(
        r"the context of train has the shape \(60, 1\), expected \(rows, 2\)", x, name="context", context=context[:, :1]
    )
    refused("the context of train has 59 rows, expected 60, as many as train", x, name="context", context=context[1:])
    refused(
        "the context of validation has 60 rows, expected 9",
        x,
        x[:9],
        "context",
        context=context,
        validation_context=context,
    )
    refused(
        "context names columns, but train is no DataFrame; pass the context as a table",
        x,
        name="context",
        context=["a", "b"],
    )
    frame = pd.DataFrame(x.numpy(), columns=list(NODES))
    refused("the context of train has no column 'a'", frame, name="context", context=["a", "b"])
    refused("the model has 2 columns of context, but train has 1 columns", frame, name="context", context=["a"])
    refused(
        "got a validation_context, but no validation table",
        x,
        name="context",
        context=context,
        validation_context=context,
    )
    refused(
        "got a validation_context, but no validation table",
        x,
        None,
        "context",
        context=context,
        validation_context=context,
    )
    path = to_file(x, tmp_path / "rows.parquet")
    refused(
        "context is a Tensor, expected the names of columns of the Parquet file", path, name="context", context=context
    )
    refused("the model has 2 columns of context, but train has none", path, name="context")
    refused(r"row group 0 of '.*' has no column 'a', 'b'", path, name="context", context=["a", "b"])


# Arguments

ARGUMENTS = [
    ({"epochs": 0}, "epochs is 0, expected a whole number of at least 1"),
    ({"epochs": 2.5}, r"epochs is 2\.5, expected a whole number"),
    ({"epochs": True}, "epochs is True"),
    ({"batch_size": 0}, "batch_size is 0, expected a whole number of at least 1"),
    ({"batch_size": "all"}, "batch_size is 'all'"),
    ({"lr": 0}, "lr is 0, expected a number above 0"),
    ({"lr": -1e-3}, r"lr is -0\.001, expected a number"),
    ({"lr": float("nan")}, "lr is nan, expected a number"),
    ({"lr": "fast"}, "lr is 'fast', expected a number"),
    ({"lr": [1e-3, 1e-2]}, "lr has 2 values, expected one, or one for each of 1 models"),
    ({"patience": 0}, "patience is 0, expected a whole number of at least 1"),
    ({"clip": 0}, "clip is 0, expected a number above 0"),
    ({"clip": "some"}, "clip is 'some', expected a number"),
    ({"seed": -1}, "seed is -1, expected a whole number"),
    ({"seed": 0.5}, r"seed is 0\.5, expected a whole number"),
    ({"seed": [1, 2]}, "seed has 2 values, expected one"),
    (
        {"optimizer": "adamax"},
        r"optimizer is 'adamax' \(did you mean 'adam'\?\), expected one of 'adam', 'adamw', or what",
    ),
    ({"optimizer": None}, "optimizer is None, expected one of"),
    (
        {"schedule": "cosin"},
        r"schedule is 'cosin' \(did you mean 'cosine'\?\), expected None, one of 'plateau', 'cosine'",
    ),
    ({"schedule": 0.9}, r"schedule is 0\.9, expected None, one of"),
    ({"callbacks": ["print"]}, r"callbacks has 'print', expected functions of an Epoch"),
]


@pytest.mark.parametrize(("options", "message"), ARGUMENTS, ids=[str(next(iter(o.items()))) for o, _ in ARGUMENTS])
def test_arguments(options, message):
    refused(message, **options)


@pytest.mark.parametrize(
    "model", [None, "StrNN", torch.nn.Linear(4, 4), [], [make(), None], weft.StrNNDensity], ids=repr
)
def test_models(model):
    with pytest.raises(
        ValueError, match=r"model is .*, expected a density such as weft\.StrNNDensity\(graph\), or a list"
    ):
        weft.fit(model, rows_for()[0])


def test_a_model_with_nothing_to_fit():
    model = make().requires_grad_(False)
    with pytest.raises(
        ValueError, match=r"StrNNDensity has no parameter that requires a gradient: there is nothing to fit"
    ):
        weft.fit(model, rows_for()[0])


def test_a_category_that_is_new():
    graph = weft.Graph.from_edges([("a", "b")])
    model = weft.StrNNDensity(graph, {"a": Categorical(3), "b": "binary"})
    weft.fit(model, torch.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0]]), None, epochs=1)
    with pytest.raises(ValueError, match="column 'a', row 1: got 3, expected a whole number from 0 to 2"):
        model.log_prob(torch.tensor([[0.0, 1.0], [3.0, 0.0]]))


def test_columns_that_a_type_cannot_tell_apart():
    x = rows_for("gaussian")[0].float()
    like = {"name": "gaussian", "model": make("gaussian").float()}
    for value in (0.1, 98.6):
        constant = x.clone()
        constant[:, 1] = value
        refused(f"column '{NODES[1]}' is constant in the training rows", constant, **like)
    offset = x.double()
    offset[:, 2] += 1e7
    refused(
        f"column '{NODES[2]}' has values around 1.*e.07 that differ by .* too little for torch.float32",
        offset,
        **like,
    )
    weft.fit(make("gaussian"), offset, epochs=1)  # float64 can


def test_context_belongs_to_its_rows():
    x, context = rows_for("context")
    frame, beside = pd.DataFrame(x.numpy(), columns=list(NODES)), pd.DataFrame(context.numpy(), columns=["c", "d"])
    wrong = beside.sample(frac=1, random_state=0)
    refused("train and its context have different indexes", frame, name="context", context=wrong)
    message = "context names 'dose', which is a variable of the model"
    refused(message, frame, name="context", context=["dose", "age"])
    held = {"name": "context", "context": beside}
    refused("validation_context has no column 'd'", frame, frame, validation_context=beside[["c"]], **held)
    turned, straight = make("context"), make("context")
    for model, columns in ((turned, ["d", "c"]), (straight, ["c", "d"])):
        weft.fit(model, frame, frame, epochs=2, context=beside, validation_context=beside[columns])
    assert all(torch.equal(a, b) for a, b in zip(turned.parameters(), straight.parameters(), strict=True))


def test_a_rate_has_one_place():
    refused(r"optimizer has lr=0\.05, which is set at every step; pass lr= to fit", optimizer=partial(Adam, lr=0.05))


def test_a_file_of_which_a_part_is_broken(tmp_path):
    path = to_file(rows_for("mixed")[0], tmp_path / "rows.parquet", compression=None)
    data = bytearray(path.read_bytes())
    data[4:400] = bytes(396)
    path.write_bytes(data)
    refused(r"row group 0 of '.*rows\.parquet' cannot be read", path)
