"""Finished cells are never measured again; an interruption loses the cell it meets and no other."""

import itertools
from dataclasses import replace

import pytest

from benchmarks.ruler.errors import JournalError
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.tuning.cells import cells, key_of
from benchmarks.ruler.tuning.command import cell_summary, summary, tune
from benchmarks.ruler.tuning.record import read_lines
from fused_mlp.vocabulary import NumberFormat, Operation
from tests.benchmarks.tuning.cases import CELLS, CIRCUMSTANCES, CalmWatch, way_cell


def test_a_second_call_measures_nothing_and_says_so(machine, candidate, compete, tmp_path):
    compete(candidate("slow", 2e-3), candidate("fast", 1e-3))
    said, path = [], tmp_path / "tuning.jsonl"
    first = tune(CELLS, machine, path=path, say=said.append)
    assert (first.n_measured, first.n_left) == (2, 0)
    assert said[0] == (
        "[1/2] mlp float32 plain, 2 rows, dim 8, hidden 16: fast, 1000.0 µs, of 2; 2.00 times as fast as slow"
    )
    second = tune(CELLS, machine, path=path, say=said.append)
    assert (second.n_measured, second.lines, len(said)) == (0, first.lines, 2)
    assert summary(second, path) == f"everything is measured already: 2 cells in {path}; nothing was measured"


def test_a_disturbed_cell_is_measured_anew_if_that_is_asked_and_the_latest_counts(
    machine, candidate, compete, tmp_path
):
    class DisturbedOnce(CalmWatch):
        def __init__(self):
            self.said = iter(["a backup"] * 20)

        def disturbance(self, _):
            return next(self.said, None)

    compete(candidate("one", 1e-3))
    path = tmp_path / "tuning.jsonl"
    tune(CELLS[:1], replace(machine, watch=DisturbedOnce()), path=path, say=lambda _: None)
    again = {"path": path, "say": lambda _: None, "again": lambda line: line.disturbed is not None}
    assert read_lines(path)[0].disturbed == "a backup"
    assert tune(CELLS[:1], machine, **again).n_measured == 1
    calm = tune(CELLS[:1], machine, **again)
    assert (calm.n_measured, calm.lines[0].disturbed) == (0, None)


def test_an_interruption_loses_the_cell_it_meets_and_no_other(machine, candidate, compete, tmp_path):
    calls = itertools.count()

    def interrupted(out):
        # Within the second cell: each cell takes some dozen calls.
        if next(calls) == first_cell_calls + 3:
            raise KeyboardInterrupt
        return out

    path, counted = tmp_path / "tuning.jsonl", []
    compete(candidate("one", 1e-3, spoil=lambda out: counted.append(1) or out))
    tune(CELLS[:1], machine, path=tmp_path / "counting.jsonl", say=lambda _: None)
    first_cell_calls = len(counted)
    compete(candidate("one", 1e-3, spoil=interrupted))
    with pytest.raises(KeyboardInterrupt):
        tune(CELLS, machine, path=path, say=lambda _: None)
    assert [line.cell for line in read_lines(path)] == [CELLS[0]]
    assert tune(CELLS, machine, path=path, say=lambda _: None).n_measured == 1


def test_a_torn_last_line_is_measured_again(machine, candidate, compete, tmp_path):
    compete(candidate("one", 1e-3))
    path = tmp_path / "tuning.jsonl"
    tune(CELLS, machine, path=path, say=lambda _: None)
    path.write_bytes(path.read_bytes()[:-20])
    assert tune(CELLS, machine, path=path, say=lambda _: None).n_measured == 1
    assert len(read_lines(path)) == 2


def test_a_file_that_is_no_record_of_tuning_is_refused_by_line(tmp_path):
    path = tmp_path / "tuning.jsonl"
    path.write_text('{"format": 99}\n')
    with pytest.raises(JournalError, match=r"tuning\.jsonl:1: not a line of tuning"):
        read_lines(path)


def test_no_cell_is_begun_that_the_budget_would_not_hold(machine, candidate, compete, tmp_path):
    compete(candidate("one", 1e-3))
    path = tmp_path / "tuning.jsonl"
    three = (*CELLS, way_cell(4, 8, 16))
    first = tune(three, machine, path=path, say=lambda _: None, budget_s=1e-6)
    assert (first.n_measured, first.n_left) == (1, 2)
    assert summary(first, path).endswith("2 left by the budget: call again")
    assert tune(three, machine, path=path, say=lambda _: None, budget_s=1e3).n_measured == 2


@pytest.mark.parametrize("changed", ["source", "torch", "device", "n_threads"])
def test_other_circumstances_are_another_measurement(changed):
    other = replace(CIRCUMSTANCES, **{changed: 7 if changed == "n_threads" else "another"})
    assert key_of(CELLS[0], other, candidates=["a"]) != key_of(CELLS[0], CIRCUMSTANCES, candidates=["a"])
    assert key_of(CELLS[0], CIRCUMSTANCES, candidates=["a", "b"]) != key_of(CELLS[0], CIRCUMSTANCES, candidates=["a"])


def test_a_disturbed_or_wrong_cell_says_so(machine, candidate, compete, tmp_path):
    compete(candidate("right", 1e-3), candidate("wrong", 1e-6, spoil=lambda out: out + 1))
    (line,) = tune(CELLS[:1], machine, path=tmp_path / "a.jsonl", say=lambda _: None).lines
    said = cell_summary(replace(line, disturbed="a backup"))
    often = cell_summary(replace(line, disturbed="a backup at 70%; a backup at 71%; a game"))
    assert often.endswith("disturbed: a backup at 70%, and 2 more")
    assert said.startswith("right, 1000.0 µs, of 2; wrong: wrong at mlp gelu_tanh float32")
    assert said.endswith("; disturbed: a backup")


@pytest.mark.parametrize("device", DeviceKind)
@pytest.mark.parametrize("is_quick", [True, False])
def test_every_cell_is_asked_once_and_can_be_drawn(device, is_quick):
    asked = cells(device, is_quick=is_quick)
    assert len(set(asked)) == len(asked)
    assert {cell.operation for cell in asked} == set(Operation)
    for cell in asked:
        assert len(cell.workload_shapes()) == len(cell.shapes)
    first = cells(device, operations=[Operation.MLP], is_quick=is_quick)[0].number_format
    assert first == (NumberFormat.FLOAT32 if device is DeviceKind.CPU else NumberFormat.BFLOAT16)
