"""A fit that was stopped goes on as if it had not been, and no kill leaves a broken file."""

import os
import signal
import subprocess
import sys
from functools import partial
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
import torch
from torch.optim.lr_scheduler import ExponentialLR, LambdaLR, ReduceLROnPlateau
from torch.utils.data import DataLoader

import weft
from weft.training import Checkpoint, _checkpoint

from .cases import GRAPH, Stop, assert_same, assert_same_result, make, rows_for, stop_at

EPOCHS = 5


def parquet(folder):
    x, _ = rows_for()
    path = folder / "rows.parquet"
    pd.DataFrame(x.numpy(), columns=list(GRAPH.nodes)).to_parquet(path, row_group_size=7)
    return path


def alone(folder, **options):
    """Fit a fresh model to a table."""
    model = make("mixed")
    x, _ = rows_for("mixed")
    options = {"epochs": EPOCHS, "lr": 0.05, "batch_size": 16, "clip": 0.5, "schedule": "plateau", **options}
    return [model], [weft.fit(model, x, **options)]


def ensemble(folder, **options):
    """Fit three members with rates and ends of their own."""
    models = [make("gaussian", seed) for seed in range(3)]
    schedule = partial(ReduceLROnPlateau, patience=0, threshold=0.1, factor=0.5)
    ends = {1: 2}
    stop = lambda told: told.number == ends.get(told.member)  # noqa: E731
    options = {"epochs": EPOCHS, "lr": [0.1, 0.02, 0.3], "batch_size": 16, "schedule": schedule, **options}
    callbacks = [stop, *options.pop("callbacks", ())]
    return models, weft.fit(models, rows_for()[0], callbacks=callbacks, **options)


def loader(folder, **options):
    """Fit to a loader that shuffles by the global generator, which may stand anywhere."""
    model = make()
    x, _ = rows_for()
    torch.manual_seed(int.from_bytes(os.urandom(4)))
    options = {"epochs": EPOCHS, "lr": 0.05, "optimizer": "adamw", **options}
    return [model], [weft.fit(model, DataLoader(x, batch_size=16, shuffle=True), x[:20], **options)]


def files(folder, **options):
    """Fit to a file."""
    model = make()
    options = {"epochs": EPOCHS, "lr": 0.05, "batch_size": 16, "schedule": "cosine", **options}
    return [model], [weft.fit(model, parquet(folder), **options)]


WAYS = {"alone": alone, "ensemble": ensemble, "loader": loader, "files": files}


def assert_same_fits(found, expected):
    for model, other in zip(found[0], expected[0], strict=True):
        assert_same(model, other)
    for result, other in zip(found[1], expected[1], strict=True):
        assert_same_result(result, other)


@pytest.mark.parametrize("way", WAYS)
def test_it_goes_on_exactly_after_a_stop_at_any_epoch(way, tmp_path):
    fit = WAYS[way]
    whole = fit(tmp_path)
    for epoch in range(1, EPOCHS + 1):
        path = tmp_path / f"{epoch}.checkpoint"
        told = []
        with pytest.raises(Stop):
            fit(tmp_path, checkpoint=Checkpoint(path, every=0), callbacks=[stop_at(epoch)])
        assert path.exists() == (epoch > 1)
        found = fit(tmp_path, checkpoint=Checkpoint(path, every=0), callbacks=[told.append])
        assert_same_fits(found, whole)
        assert [each.number for each in told if each.member == 0] == list(range(epoch, EPOCHS + 1))


def test_it_goes_on_after_several_stops_in_one_process(tmp_path):
    # The model of the run that stopped is fitted again: its weights do not matter.
    whole = alone(tmp_path)
    model, (x, _) = make("mixed"), rows_for("mixed")
    options = {"epochs": EPOCHS, "lr": 0.05, "batch_size": 16, "clip": 0.5, "schedule": "plateau"}
    options["checkpoint"] = Checkpoint(tmp_path / "run", every=0)
    for epoch in (2, 4):
        with pytest.raises(Stop):
            weft.fit(model, x, callbacks=[stop_at(epoch)], **options)
    assert_same_fits(([model], [weft.fit(model, x, **options)]), whole)


@pytest.mark.parametrize("way", WAYS)
def test_a_finished_run_gives_its_result_at_once(way, tmp_path):
    fit, path, told = WAYS[way], tmp_path / "run", []
    whole = fit(tmp_path, checkpoint=path)
    again = fit(tmp_path, checkpoint=path, callbacks=[told.append])
    assert_same_fits(again, whole)
    assert told == []
    assert [each.seconds for each in again[1]] == [each.seconds for each in whole[1]]
    assert all(each.history.equals(other.history) for each, other in zip(again[1], whole[1], strict=True))


@pytest.mark.parametrize("way", ["alone", "ensemble", "loader"])
def test_more_epochs_go_on_from_it(way, tmp_path):
    fit, path = WAYS[way], tmp_path / "run"
    fit(tmp_path, checkpoint=path, epochs=2)
    assert_same_fits(fit(tmp_path, checkpoint=path), fit(tmp_path))


def test_what_patience_has_stopped_stays_stopped(tmp_path):
    path = tmp_path / "run"
    options = {"patience": 1, "lr": 0.5, "epochs": 50}
    whole = alone(tmp_path, checkpoint=path, **options)
    assert whole[1][0].stopped == "patience"
    assert_same_fits(alone(tmp_path, checkpoint=path, **{**options, "epochs": 99}), whole)


@pytest.mark.parametrize(
    "schedule",
    ["plateau", "cosine", "multi-step", partial(ExponentialLR, gamma=0.9), "lambda"],
    ids=["plateau", "cosine", "multi-step", "exponential", "lambda"],
)
def test_schedules_go_on(schedule, tmp_path):
    def options():
        made = partial(LambdaLR, lr_lambda=lambda epoch: 1 / (1 + epoch))  # another function in every process
        return {"schedule": made if schedule == "lambda" else schedule}

    path = tmp_path / "run"
    with pytest.raises(Stop):
        alone(tmp_path, checkpoint=Checkpoint(path, every=0), callbacks=[stop_at(4)], **options())
    assert_same_fits(alone(tmp_path, checkpoint=path, **options()), alone(tmp_path, **options()))


def test_the_number_of_threads_does_not_matter(tmp_path):
    path = tmp_path / "run"
    x, _ = rows_for(n=10_000)
    with pytest.raises(Stop):
        weft.fit(make(), x, checkpoint=Checkpoint(path, every=0), callbacks=[stop_at(2)], epochs=2, batch_size=4000)
    torch.set_num_threads(2)
    try:
        weft.fit(make(), x, checkpoint=path, epochs=2, batch_size=4000)
    finally:
        torch.set_num_threads(1)


# The file


def test_the_file_is_data_and_no_code(tmp_path):
    path = tmp_path / "run"
    ensemble(tmp_path, checkpoint=path)
    state = torch.load(path, weights_only=True)
    assert state["epoch"] == EPOCHS
    assert [len(course["history"]) for course in state["courses"]] == [5, 2, 5]
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


def test_it_is_written_when_it_is_due(tmp_path, monkeypatch):
    clock, written = [0.0], []
    monkeypatch.setattr(_checkpoint.time, "monotonic", lambda: clock[0])
    write = Checkpoint.write
    monkeypatch.setattr(Checkpoint, "write", lambda self, state: (written.append(state["epoch"]), write(self, state)))

    def tick(told):
        clock[0] += 4

    alone(tmp_path, checkpoint=Checkpoint(tmp_path / "a", every=10), callbacks=[tick], epochs=8, patience=None)
    assert written == [3, 6, 8]
    written.clear()
    alone(tmp_path, checkpoint=Checkpoint(tmp_path / "b", every=1e9), callbacks=[tick], patience=None)
    assert written == [EPOCHS]


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "run"
    alone(tmp_path, checkpoint=path, epochs=2)
    before = path.read_bytes()
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("no space left on device")))
    with pytest.raises(OSError, match="no space left"):
        alone(tmp_path, checkpoint=path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


KILLED = """
import os, signal, sys
from pathlib import Path

import torch

import weft
from weft.training import Checkpoint

torch.set_num_threads(1)
SAVE, SYNC, MOVE = torch.save, os.fsync, Path.replace


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def half(state, file):  # killed in the middle of the write
    SAVE(state, file)
    file.truncate(file.tell() // 2)
    file.flush()
    die()


def moved(self, target):  # killed right after the move
    MOVE(self, target)
    die()


def arm(point):
    if point == "write":
        torch.save = half
    elif point == "flush":
        os.fsync = die
    elif point == "move":
        Path.replace = die
    else:
        Path.replace = moved


def fit(path, point=None, epoch=None):
    torch.manual_seed(0)
    model = weft.StrNNDensity(weft.graph.chain(3), "gaussian", (4,), dtype=torch.float64)
    x = torch.randn(60, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).cumsum(1)
    callbacks = [lambda told: arm(point) if told.number == epoch else None]
    result = weft.fit(model, x, epochs=5, lr=0.05, callbacks=callbacks, checkpoint=path and Checkpoint(path, every=0))
    return result.history["validation"].tolist(), [p.tolist() for p in model.parameters()]


folder = Path(sys.argv[1])
kills = [("write", 1), ("write", 3), ("flush", 3), ("move", 3), ("moved", 3)]
whole = fit(None)
for point, epoch in kills:
    child = os.fork()
    if child == 0:
        fit(folder / f"{point}{epoch}", point, epoch)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL

for point, epoch in kills:
    path = folder / f"{point}{epoch}"
    expected = epoch if point == "moved" else epoch - 1
    assert path.exists() == (expected > 0), (point, epoch)
    if path.exists():
        assert torch.load(path, weights_only=True)["epoch"] == expected, (point, epoch)
    assert fit(path) == whole, (point, epoch)
print("whole")
"""


@pytest.mark.skipif(not hasattr(os, "fork") or not hasattr(signal, "SIGKILL"), reason="kills itself as POSIX does")
def test_a_kill_during_a_write_never_leaves_a_broken_file(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", KILLED, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("whole\n", "")


# Files that are not of this run


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("written") / "run"
    alone(path.parent, checkpoint=path)
    return path.read_bytes()


BROKEN = {
    "empty": lambda data: b"",
    "text": lambda data: b"hello, world\n" * 100,
    "a byte": lambda data: b"\x80",
    "cut to a half": lambda data: data[: len(data) // 2],
    "cut by a byte": lambda data: data[:-1],
    "another beginning": lambda data: b"\0" * 100 + data[100:],
    "another middle": lambda data: data[: len(data) // 2] + b"\xff" * 64 + data[len(data) // 2 + 64 :],
}


@pytest.mark.parametrize("broken", BROKEN)
def test_broken_files_are_refused(broken, written, tmp_path):
    path = tmp_path / "run"
    path.write_bytes(BROKEN[broken](written))
    with pytest.raises(ValueError, match=r"the checkpoint '.*run' cannot be read: .*\. Delete it to start anew"):
        alone(tmp_path, checkpoint=path)
    assert path.read_bytes() == BROKEN[broken](written)


def test_files_with_code_are_refused(tmp_path):
    path = tmp_path / "run"
    torch.save({"version": 1, "run": make()}, path)
    with pytest.raises(ValueError, match="cannot be read"):
        alone(tmp_path, checkpoint=path)


@pytest.mark.parametrize("foreign", [{"epoch": 3}, [1, 2], {"version": 1}], ids=str)
def test_foreign_files_are_refused(foreign, tmp_path):
    path = tmp_path / "run"
    torch.save(foreign, path)
    with pytest.raises(ValueError, match=r"run' is no checkpoint of weft\.fit; name another file"):
        alone(tmp_path, checkpoint=path)
    torch.save(make().state_dict(), path)
    with pytest.raises(ValueError, match="is no checkpoint"):
        alone(tmp_path, checkpoint=path)


def test_files_of_a_newer_library_are_refused(written, tmp_path):
    path = tmp_path / "run"
    path.write_bytes(written)
    state = torch.load(path, weights_only=True)
    torch.save({**state, "version": 2}, path)
    with pytest.raises(ValueError, match="was written by a newer Weft"):
        alone(tmp_path, checkpoint=path)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"seed": 1}, r"its seed was \[0\], now it is \[1\]"),
        ({"lr": 0.1}, r"its lr was \[0\.05\], now it is \[0\.1\]"),
        ({"batch_size": 8}, "its batch_size was 16, now it is 8"),
        ({"optimizer": "adamw"}, "its optimizer was 'adam', now it is 'adamw'"),
        ({"optimizer": partial(torch.optim.Adam, eps=1e-3)}, r"its optimizer was .*now it is \"Adam .*0\.001"),
        ({"schedule": None}, "its schedule was"),
        ({"patience": 3}, "its patience was 20, now it is 3"),
        ({"clip": None}, "its clip was 0.5, now it is None"),
        ({"validation": 0.3}, "its training rows were others"),
        ({"validation": rows_for("mixed", n=20, seed=8)[0]}, "its training rows were others"),
    ],
    ids=["seed", "lr", "batch", "optimizer", "its options", "schedule", "patience", "clip", "share", "table"],
)
def test_files_of_another_run_are_refused(other, message, written, tmp_path):
    path = tmp_path / "run"
    path.write_bytes(written)
    with pytest.raises(ValueError, match=f"is of another run: {message}.*Name another file, or delete it"):
        alone(tmp_path, checkpoint=path, **other)
    assert path.read_bytes() == written


def test_files_of_other_data_or_another_model_are_refused(tmp_path):
    x, context = rows_for("context")
    path = tmp_path / "run"
    options = {"checkpoint": path, "epochs": 1}
    held = {"validation": x[:9], "validation_context": context[:9]}
    weft.fit(make("context"), x, context=context, **held, **options)
    weft.fit(make("context"), x, context=context, **held, **options)
    changed = x.clone()
    changed[3, 0] += 1e-9
    with pytest.raises(ValueError, match="its training rows were others"):
        weft.fit(make("context"), changed, context=context, **held, **options)
    with pytest.raises(ValueError, match="its training rows were others"):
        weft.fit(make("context"), x, context=context.flip(0), **held, **options)
    with pytest.raises(ValueError, match="its validation rows were others"):
        weft.fit(make("context"), x, context=context, **{**held, "validation": x[9:18]}, **options)
    with pytest.raises(ValueError, match="its models were others"):
        weft.fit(make("context", hidden=(7,)), x, context=context, **held, **options)
    nodes = GRAPH.nodes
    other = weft.Graph.from_edges([(nodes[1], nodes[0]), *pairwise(nodes[1:])], nodes=nodes)
    model = weft.StrNNDensity(other, "gaussian", hidden=(6,), context=context.shape[1], dtype=torch.float64)
    with pytest.raises(ValueError, match="its models were others"):
        weft.fit(model, x, context=context, **held, **options)
    with pytest.raises(ValueError, match="its standardize was True, now it is False"):
        weft.fit(make("context"), x, context=context, standardize=False, **held, **options)
    with pytest.raises(ValueError, match=r"its seed was \[0\], now it is \[0, 1\]"):
        weft.fit([make("context", seed) for seed in range(2)], x, context=context, **held, **options)


@pytest.mark.parametrize(
    ("checkpoint", "message"),
    [
        (lambda folder: folder, "expected a file in a folder that exists"),
        (lambda folder: folder / "no" / "run", "expected a file in a folder that exists"),
        (lambda folder: 3, "checkpoint is 3, expected the path of a file"),
        (lambda folder: Checkpoint(folder / "run", every=-1), "every is -1, expected a number of at least 0"),
        (lambda folder: Checkpoint(Path(folder / "run"), every="often"), "every is 'often'"),
    ],
    ids=["a folder", "no folder", "a number", "negative", "a word"],
)
def test_arguments(checkpoint, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        alone(tmp_path, checkpoint=checkpoint(tmp_path))
