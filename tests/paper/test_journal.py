"""A long run that was stopped goes on with the steps that are missing, and takes up no step of another run."""

import pytest

from weft.paper import EXPERIMENTS, Journal
from weft.paper.__main__ import main


def steps(count, called):
    def step(number):
        called.append(number)
        return [{"step": number, "third": 1 / 3}]

    return [lambda number=number: step(number) for number in range(count)]


def run(path, name, count, called):
    return [step() for step in Journal(path, name).steps(steps(count, called))]


def test_steps_that_are_done_are_not_run_again(tmp_path):
    first, again = [], []
    rows = run(tmp_path / "journal", "a", 3, first)
    assert run(tmp_path / "journal", "a", 5, again)[:3] == rows
    assert (first, again) == ([0, 1, 2], [3, 4])


def test_another_run_begins_anew(tmp_path):
    called = []
    run(tmp_path / "journal", "a", 2, [])
    run(tmp_path / "journal", "b", 2, called)
    assert called == [0, 1]


@pytest.mark.parametrize("broken", [b"", b'[{"step": 1', b"3", b"null", b"[]", b"{}", b"\xff\xfe", b"[3]"])
def test_a_line_that_is_broken_ends_what_is_known(broken, tmp_path):
    path, called = tmp_path / "journal", []
    run(path, "a", 3, [])
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([*lines[:2], broken, lines[3]]))
    rows = run(path, "a", 3, called)
    assert called == [1, 2]
    assert [row[0]["step"] for row in rows] == [0, 1, 2]


def test_a_command_that_was_stopped_goes_on(tmp_path, monkeypatch, capsys):
    command = ["gaussian", "--quick", "--seeds", "2", "--device", "cpu", "--out", str(tmp_path)]
    whole = tmp_path / "whole"
    main([*command[:-1], str(whole)])
    real, count = Journal._once, iter(range(1, 100))

    def stopped(self, number, step):
        if next(count) == 3:
            raise KeyboardInterrupt
        return real(self, number, step)

    monkeypatch.setattr(Journal, "_once", stopped)
    with pytest.raises(SystemExit) as end:
        main(command)
    assert end.value.code == 130
    assert "the same command goes on from here" in capsys.readouterr().err
    output = f"{EXPERIMENTS['gaussian'].output}_quick"
    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == [f"{output}.partial"]
    monkeypatch.undo()
    main(command)
    assert not (tmp_path / f"{output}.partial").exists()
    tables = [(folder / f"{output}.md").read_text(encoding="utf-8") for folder in (tmp_path, whole)]
    assert tables[0] == tables[1]
