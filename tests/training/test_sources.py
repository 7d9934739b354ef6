"""Rows may come as tensors, arrays, frames, loaders and files; a fit sees the same rows whatever holds them."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

import weft
from weft.training import _parquet, _sources
from weft.training._parquet import Parquet

from .cases import GRAPH, MIXED, Recorder, assert_same, make, rows_for, sorted_rows

NODES = GRAPH.nodes


def frame_of(x, **further):
    """Write rows as a DataFrame with columns in another order, and with others."""
    frame = pd.DataFrame(x.numpy(), columns=list(NODES))
    frame["name"] = "somebody"
    for column, values in further.items():
        frame[column] = values.numpy()
    return frame[["name", *further, *reversed(NODES)]]


def recorder(kinds="gaussian", **options):
    torch.manual_seed(0)
    return Recorder(GRAPH, kinds, **{"hidden": (4,), "dtype": torch.float64, **options})


def read_only(x):
    array = x.numpy().copy()
    array.flags.writeable = False
    return array


class Stream(IterableDataset):
    """Rows one by one, their number not told."""

    def __init__(self, x):
        self.x = x

    def __iter__(self):
        return iter(self.x)


def parquet_of(x, path, group=None, **further):
    frame_of(x, **further).to_parquet(path, row_group_size=group, index=False)
    return path


# In memory

TABLES = {
    "array": lambda x: x.numpy(),
    "read-only array": read_only,
    "array of columns": lambda x: np.asfortranarray(x.numpy()),
    "array backwards": lambda x: np.flip(np.flip(x.numpy(), 0).copy(), 0),
    "big-endian array": lambda x: x.numpy().astype(">f8"),
    "lists": lambda x: x.tolist(),
    "frame": frame_of,
    "frame with an index": lambda x: frame_of(x).set_index("name"),
    "tensor with a gradient": lambda x: x.clone().requires_grad_(),
    "tensor of columns": lambda x: x.t().contiguous().t(),
}


@pytest.mark.parametrize("table", TABLES)
def test_tables_of_every_kind_give_the_same_fit(table):
    x, _ = rows_for("gaussian")
    model, other = make(), make()
    result = weft.fit(model, x, epochs=2)
    same = weft.fit(other, TABLES[table](x), epochs=2)
    assert_same(model, other)
    assert result.history["train"].tolist() == same.history["train"].tolist()
    for given in (x[:9], TABLES[table](x)[:9]):  # and as a table of validation rows
        assert weft.fit(make(), x, given, epochs=1).best_validation == pytest.approx(
            weft.fit(make(), x, x[:9], epochs=1).best_validation, rel=1e-12
        )


def test_whole_numbers_of_every_type():
    x = torch.randint(2, (40, 4), generator=torch.Generator().manual_seed(0))
    frame = pd.DataFrame(x.numpy(), columns=list(NODES))
    tables = [x, x.bool(), x.numpy().astype(np.int8), x.numpy().astype(np.uint16), x.numpy().astype(bool), frame]
    tables += [frame.astype("Int64"), frame.astype("boolean"), frame.astype(bool), frame.astype("Float32")]
    tables += [frame.astype({"age": "Int8", "dose": bool}), frame.astype("int64[pyarrow]")]
    expected = make("binary")
    weft.fit(expected, x.double(), epochs=2)
    for table in tables:
        model = make("binary")
        weft.fit(model, table, epochs=2)
        assert_same(model, expected)


def test_values_that_a_nullable_column_lacks_are_missing():
    x, _ = rows_for("mixed")
    frame = pd.DataFrame(x.numpy(), columns=list(NODES)).astype({"age": "boolean", "visits": "Int64", "ward": "Int8"})
    frame.loc[[3, 5], ["age", "visits"]] = pd.NA
    holes = x.clone()
    holes[[[3], [5]], [[NODES.index("age"), NODES.index("visits")]]] = torch.nan
    model, other = make("missing"), make("missing")
    weft.fit(model, frame, epochs=2)
    weft.fit(other, holes, epochs=2)
    assert_same(model, other)


def test_context_as_a_table_or_as_names():
    x, context = rows_for("context")
    validation, held = rows_for("context", n=20, seed=4)
    expected = make("context")
    weft.fit(expected, x, validation, context=context, validation_context=held, epochs=2)
    columns = {"site": context[:, 0], "year": context[:, 1]}
    frame, other = frame_of(x, **columns), frame_of(validation, site=held[:, 0], year=held[:, 1])
    names = ["site", "year"]
    ways = [
        (x, validation, context.numpy(), pd.DataFrame(held.numpy())),
        (frame, other, names, names),
        (frame, validation, names, held),
        (x, other, pd.DataFrame(context.numpy(), columns=names), tuple(names)),
    ]
    for train, valid, given, given_validation in ways:
        model = make("context")
        weft.fit(model, train, valid, context=given, validation_context=given_validation, epochs=2)
        assert_same(model, expected)
    model, shared = make("context"), make("context")
    weft.fit(model, frame, context=names, epochs=2)
    weft.fit(shared, x, context=context, epochs=2)
    assert_same(model, shared)


def test_rows_keep_their_context():
    torch.manual_seed(0)
    model = Recorder(GRAPH, "gaussian", (4,), context=1, dtype=torch.float64)
    x, _ = rows_for("gaussian")
    weft.fit(model, x, context=x[:, :1] * 2, epochs=2, batch_size=7)
    for rows, context in zip(model.trained, model.contexts, strict=True):
        assert torch.equal(rows[:, :1] * 2, context)


def test_tables_come_to_the_type_of_the_model():
    x, _ = rows_for("gaussian")
    model = make(dtype=torch.float32)
    weft.fit(model, x, x.numpy(), epochs=1)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


def test_the_table_is_not_written_to():
    x, _ = rows_for("missing")
    before = x.clone()
    weft.fit(make("missing"), x, epochs=2)
    assert torch.equal(x.nan_to_num(-9), before.nan_to_num(-9))


# Loaders


@pytest.mark.parametrize("dataset", ["rows", "tuples", "stream"])
def test_loaders(dataset):
    x, _ = rows_for("gaussian")
    held = {"rows": x, "tuples": TensorDataset(x), "stream": Stream(x)}[dataset]
    model = recorder()
    result = weft.fit(model, DataLoader(held, batch_size=25), DataLoader(held, batch_size=40), epochs=3)
    assert [len(batch) for batch in model.trained] == [25, 25, 10] * 3
    assert torch.equal(torch.cat(model.trained[:3]), x)
    assert torch.equal(torch.cat(model.evaluated[:2]), x)
    torch.testing.assert_close(model.shift, x.mean(dim=0))
    assert result.best_validation == pytest.approx(-model.log_prob(x).mean().item(), rel=1e-12)


def test_loaders_with_context():
    x, context = rows_for("context")
    loader = DataLoader(TensorDataset(x, context), batch_size=25)
    model, other = make("context"), make("context")
    weft.fit(model, loader, DataLoader(TensorDataset(x[:9], context[:9]), batch_size=4), epochs=2)
    weft.fit(other, loader, x[:9], validation_context=context[:9], epochs=2)
    assert_same(model, other)


def test_loaders_in_another_type_of_number():
    x, _ = rows_for("binary")
    model = recorder("binary")
    weft.fit(model, DataLoader(x.to(torch.uint8), batch_size=60), None, epochs=1)
    assert torch.equal(model.trained[0], x)


def test_a_long_stream_is_only_sampled_for_units(monkeypatch):
    monkeypatch.setattr(_sources, "LARGEST_SAMPLE", 30)
    x, _ = rows_for("gaussian")
    model = recorder()
    weft.fit(model, DataLoader(Stream(x), batch_size=20), None, epochs=1)
    torch.testing.assert_close(model.shift, x[:40].mean(dim=0))


# Parquet files


@pytest.fixture
def reads(monkeypatch):
    """Every row group that is read, by file name."""
    seen, read = [], pq.ParquetFile.read_row_group

    def spy(self, group, **options):
        seen.append((self.metadata.num_rows, group))
        return read(self, group, **options)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", spy)
    return seen


@pytest.mark.parametrize("files", [1, 3])
def test_each_row_once_an_epoch(files, tmp_path):
    x, _ = rows_for("gaussian", n=330)
    paths = [parquet_of(part, tmp_path / f"{i}.parquet", 25) for i, part in enumerate(torch.tensor_split(x, files))]
    model = recorder()
    weft.fit(model, paths if files > 1 else str(paths[0]), None, epochs=2, batch_size=32)
    assert [len(batch) for batch in model.trained] == [*[32] * 10, 10] * 2
    first, second = torch.cat(model.trained[:11]), torch.cat(model.trained[11:])
    assert torch.equal(sorted_rows([first]), sorted_rows([x]))
    assert torch.equal(sorted_rows([second]), sorted_rows([x]))
    assert not torch.equal(first, second)
    assert not torch.equal(first, x)
    torch.testing.assert_close(model.shift, x.mean(dim=0))


def test_row_groups_are_streamed_in_small_pools(tmp_path, monkeypatch, reads):
    monkeypatch.setattr(_parquet, "POOL", 60)
    x, _ = rows_for("gaussian", n=400)
    source = Parquet([parquet_of(x, tmp_path / "rows.parquet", 20)], make(), [], 0.0, 0, 16, "train")
    assert [group for _, group in reads] == list(range(20))  # the first pass looks at every row
    generator = torch.Generator().manual_seed(0)
    orders, seen = [], []
    for _ in range(2):
        reads.clear()
        given = []
        for batch, _ in source.batches([generator]):
            given.append(batch[0])
            assert len(batch[0]) == 16
            assert 20 * len(reads) - sum(map(len, given)) <= 60 + 20  # rows in memory
        orders.append([group for _, group in reads])
        seen.append(torch.cat(given))
        assert sorted(orders[-1]) == list(range(20))
        assert torch.equal(sorted_rows(given), sorted_rows([x]))
    assert orders[0] != orders[1]
    place = {float(row[0]): number for number, row in enumerate(x)}
    groups = [place[float(row[0])] // 20 for row in seen[0][:48]]
    assert len(set(groups)) == 3  # the groups of one pool, mixed: not one after another
    assert groups != sorted(groups, key=groups.index)


def test_without_an_order_the_rows_stand_as_they_are(tmp_path, monkeypatch):
    monkeypatch.setattr(_parquet, "POOL", 30)
    x, _ = rows_for("gaussian", n=100)
    source = Parquet([parquet_of(x, tmp_path / "rows.parquet", 7)], make(), [], 0.0, 0, 16, "train")
    assert torch.equal(torch.cat([rows[0] for rows, _ in source.batches(None)]), x)
    assert source.steps == len(list(source.batches(None))) == 7


@pytest.mark.parametrize("pool", [10, 2**18])
def test_a_share_of_the_files_validates_and_never_trains(tmp_path, monkeypatch, pool):
    monkeypatch.setattr(_parquet, "POOL", pool)
    x, _ = rows_for("gaussian", n=300)
    path = parquet_of(x, tmp_path / "rows.parquet", 40)
    held = []
    for seed in (0, 0, 1):
        model = recorder()
        result = weft.fit(model, path, 0.25, epochs=2, batch_size=20, seed=seed)
        count = len(model.evaluated[0])
        assert abs(count - 75) < 5 * (300 * 0.25 * 0.75) ** 0.5
        train = torch.cat(model.trained)[: 300 - count]
        assert torch.equal(sorted_rows([train, model.evaluated[0]]), sorted_rows([x]))
        torch.testing.assert_close(model.shift, sorted_rows([train]).mean(dim=0))
        assert result.best_validation == pytest.approx(-model.log_prob(model.evaluated[0]).mean().item(), rel=1e-12)
        held.append(sorted_rows(model.evaluated[:1]))
    assert torch.equal(held[0], held[1])
    assert not torch.equal(held[0][:20], held[2][:20])


def test_of_many_rows_few_are_held_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(_parquet, "LARGEST_SAMPLE", 50)
    x, _ = rows_for("gaussian", n=1000)
    source = Parquet([parquet_of(x, tmp_path / "rows.parquet", 100)], make(), [], 0.5, 0, 16, "train")
    assert abs(len(source.apart) - 50) < 5 * 50**0.5
    assert abs(len(source.sample(0)) - 50) < 5 * 50**0.5
    assert source.rows == 1000 - len(source.apart) == sum(rows.shape[1] for rows, _ in source.batches(None))


def test_files_with_context_and_files_that_validate(tmp_path):
    x, context = rows_for("context")
    validation, held = rows_for("context", n=20, seed=4)
    names = ["site", "year"]
    path = parquet_of(x, tmp_path / "a.parquet", 10, site=context[:, 0], year=context[:, 1])
    other = parquet_of(validation, tmp_path / "b.parquet", 10, site=held[:, 0], year=held[:, 1])
    model = Recorder(GRAPH, MIXED, (4,), context=2, dtype=torch.float64)
    result = weft.fit(model, path, other, context=names, validation_context=names, epochs=1, batch_size=60)
    assert torch.equal(
        sorted_rows([torch.cat([model.trained[0], model.contexts[0]], dim=1)]),
        sorted_rows([torch.cat([x, context], dim=1)]),
    )
    assert torch.equal(torch.cat(model.evaluated), validation)
    assert result.best_validation == pytest.approx(-model.log_prob(validation, held).mean().item(), rel=1e-12)
    split = Recorder(GRAPH, MIXED, (4,), context=2, dtype=torch.float64)
    weft.fit(split, path, context=names, epochs=1)
    assert len(split.trained[0]) + len(split.evaluated[0]) == 60


def test_types_of_columns(tmp_path):
    x = torch.randint(2, (40, 4), generator=torch.Generator().manual_seed(0))
    types = [pa.bool_(), pa.int8(), pa.uint32(), pa.float32()]
    columns = {
        name: pa.array(x[:, i].tolist()).cast(kind) for i, (name, kind) in enumerate(zip(NODES, types, strict=True))
    }
    columns["age"] = pa.array([None, *columns["age"].to_pylist()[1:]], type=pa.int8())
    columns["dose"] = pa.array([True, None, *columns["dose"].to_pylist()[2:]], type=pa.bool_())
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    x = x.double()
    x[0, NODES.index("age")] = x[1, NODES.index("dose")] = torch.nan
    x[0, NODES.index("dose")] = 1
    model = recorder("binary", missing="factor")
    weft.fit(model, tmp_path / "rows.parquet", None, epochs=1)
    assert torch.equal(sorted_rows(model.trained).nan_to_num(7), sorted_rows([x]).nan_to_num(7))


def test_names_that_are_no_strings(tmp_path):
    graph = weft.Graph.from_edges([(0, 1)])
    pd.DataFrame({"1": [1.0, 0.0, 1.0], "0": [0.0, 0.0, 1.0]}).to_parquet(tmp_path / "rows.parquet")
    model = Recorder(graph, "binary", (4,))
    weft.fit(model, tmp_path / "rows.parquet", None, epochs=1)
    assert sorted(model.trained[0].tolist()) == [[0, 0], [0, 1], [1, 1]]


def test_an_ensemble_of_files(tmp_path):
    x, _ = rows_for("gaussian")
    path = parquet_of(x, tmp_path / "rows.parquet", 20)
    models = [make(seed=seed) for seed in range(2)]
    alone = make()
    weft.fit(models, path, epochs=3)
    weft.fit(alone, path, epochs=3)
    for mine, other in zip(models[0].parameters(), alone.parameters(), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-10, atol=1e-10)


# All of them

SOURCES = {
    "tensor": lambda x, folder: x,
    "array": lambda x, folder: x.numpy(),
    "frame": lambda x, folder: frame_of(x),
    "loader": lambda x, folder: DataLoader(x, batch_size=100, shuffle=True),
    "stream": lambda x, folder: DataLoader(Stream(x), batch_size=100),
    "file": lambda x, folder: parquet_of(x, folder / "rows.parquet", 30),
    "files": lambda x, folder: [parquet_of(x[i::2], folder / f"{i}.parquet", 30) for i in range(2)],
}


@pytest.mark.parametrize("source", SOURCES)
def test_all_sources_lead_to_the_same_optimum(source, tmp_path):
    # Independent Gaussians: the maximum is at mean and spread of the rows, here to a twentieth of a standard error.
    x, _ = rows_for("gaussian", n=300)
    graph = weft.Graph.from_edges([], nodes=list(NODES))
    torch.manual_seed(0)
    model = weft.StrNNDensity(graph, "gaussian", (2,), dtype=torch.float64)
    options = {"epochs": 100, "lr": 0.05, "schedule": "cosine"}
    options |= {} if source in {"loader", "stream"} else {"batch_size": 100}
    weft.fit(model, SOURCES[source](x, tmp_path), None, **options)
    for column, node in enumerate(NODES):
        law, values = model.conditional(node, {}), x[:, column]
        error = values.std().item() / 300**0.5
        assert abs(law.mean.item() - values.mean().item()) < error / 20
        assert abs(law.stddev.item() - values.std(correction=0).item()) < error / 20
