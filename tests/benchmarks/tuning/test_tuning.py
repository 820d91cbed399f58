"""Tuning: wrong kernels never win, finished cells are never measured again, and the table says what was found."""

import itertools
import json
import os
import re
import subprocess
import sys
from dataclasses import replace

import pytest
import torch
from click.testing import CliRunner

from benchmarks.ruler.errors import JournalError
from benchmarks.ruler.measure.timing import Policy as SamplingPolicy
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.tuning import command as tuning_command
from benchmarks.ruler.tuning.candidates import Candidate, CannotBuild, Machine
from benchmarks.ruler.tuning.cell_timing import DeviceContextLost, measure_cell
from benchmarks.ruler.tuning.cells import Cell, Measured, Question, TuningConditions, cells, key_of
from benchmarks.ruler.tuning.command import cell_summary, summary, tune, write_table
from benchmarks.ruler.tuning.conclusions import merged, policies_from, policy_value, ways_from, winner
from benchmarks.ruler.tuning.record import read_lines
from fused_mlp.tuned import Entry, Policy, Way, entries_from_json, json_from_entries
from fused_mlp.vocabulary import Implementation, NumberFormat, Operation, Weights

CIRCUMSTANCES = TuningConditions(device="a device", n_threads=2, torch="2", triton=None, source="s")
MLP = {"operation": Operation.MLP, "number_format": NumberFormat.FLOAT32}


def way_cell(*shape, weights=Weights.PLAIN):
    return Cell(question=Question.WAY, weights=weights, shapes=(shape,), **MLP)


CELLS = (way_cell(2, 8, 16), way_cell(3, 8, 16))


class FakeClock:
    """Time passes only while a call runs, as much as the call says."""

    def __init__(self):
        self.time_s = 0.0

    def now(self):
        return self.time_s

    def wall(self, call, *, calls):
        start = self.time_s
        for _ in range(calls):
            call()
        return self.time_s - start


class CalmWatch:
    def start(self):
        pass

    def disturbance(self):
        return None


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def machine(clock):
    sampling = SamplingPolicy(budget_s=0.02, min_rounds=6)
    cuda_like = {"kind": DeviceKind.CUDA, "device": torch.device("cpu"), "circumstances": CIRCUMSTANCES}
    return Machine(clock=clock, watch=CalmWatch(), sampling=sampling, **cuda_like)


@pytest.fixture
def candidate(clock):
    """A candidate that takes `seconds` a call and gives the right result, unless it is told to do something else."""

    def made(name, seconds, *, spoil=lambda out: out, **rest):
        def build(load):
            def function(x):
                clock.time_s += seconds
                return spoil(load.module(x))

            return function

        return Candidate(name=name, implementation=Implementation.EPILOGUE, build=build, **rest)

    return made


@pytest.fixture
def compete(monkeypatch):
    """Makes these the candidates of every cell."""

    def given(*candidates):
        monkeypatch.setattr(tuning_command, "candidates", lambda *_: candidates)

    return given


def by_name(answer):
    return {one.name: one for one in answer.measured}


def raise_(error):
    def raised(_):
        raise error

    return raised


def test_the_fastest_right_candidate_wins(machine, candidate):
    answer = measure_cell(CELLS[0], [candidate("slow", 2e-3), candidate("fast", 1e-3)], machine, crashed={})
    assert winner(answer.measured).name == "fast"
    assert by_name(answer)["fast"].seconds == pytest.approx(1e-3)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [(lambda out: out + 1e-3, "wrong at mlp gelu float32.*is off by"), (lambda out: out * float("nan"), "holds NaN")],
)
def test_a_wrong_candidate_is_not_timed_however_fast_it_is(machine, candidate, spoil, words):
    right, wrong = candidate("right", 2e-3), candidate("wrong", 1e-6, spoil=spoil)
    answer = measure_cell(CELLS[0], [right, wrong], machine, crashed={})
    assert by_name(answer)["wrong"].seconds is None
    assert re.search(words, by_name(answer)["wrong"].reason)
    assert winner(answer.measured).name == "right"


def test_a_candidate_that_raises_or_cannot_be_built_has_its_reason(machine, candidate):
    def unbuildable(load):
        raise CannotBuild("not on this CPU")

    broken = candidate("broken", 1e-3, spoil=raise_(RuntimeError("no such thing")))
    absent = Candidate(name="absent", build=unbuildable)
    answer = by_name(measure_cell(CELLS[0], [candidate("right", 1e-3), broken, absent], machine, crashed={}))
    assert answer["broken"].reason == "RuntimeError: no such thing"
    assert answer["absent"].reason == "CannotBuild: not on this CPU"


def test_of_many_candidates_only_the_best_are_compared_at_length(machine, candidate):
    many = [candidate(str(n), 1e-3 * n) for n in (9, 8, 7, 6, 5, 4, 3, 2, 1)]
    answer = measure_cell(CELLS[0], many, machine, crashed={})
    assert winner(answer.measured).name == "1"
    timed = [one.name for one in answer.measured if one.seconds is not None]
    assert timed == ["9", "5", "4", "3", "2", "1"]
    assert by_name(answer)["8"].reason == "behind in the brief comparison"


def test_the_values_of_a_policy_are_scored_over_all_shapes(machine, clock):
    turn = []
    cost = {("1", 2): 1e-3, ("1", 4): 4e-3, ("2", 2): 2e-3, ("2", 4): 2e-3}

    def build(load):
        def function(x):
            clock.time_s += cost[turn[-1], load.shape.batch]
            return load.module(x)

        return function

    def contender(value):
        return Candidate(name=str(value), value=value, build=build, take_turn=lambda: turn.append(str(value)))

    cell = Cell(question=Question.REPACKING_ROWS, weights=Weights.PLAIN, shapes=((2, 8, 16), (4, 8, 16)), **MLP)
    answer = by_name(measure_cell(cell, [contender(1), contender(2)], machine, crashed={}))
    assert answer["1"].seconds == pytest.approx((1 * 2) ** 0.5)
    assert answer["2"].seconds == pytest.approx((2 * 1) ** 0.5)


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

        def disturbance(self):
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


@pytest.mark.parametrize("source", ["CUDA error", "Triton Error [CUDA]"])
def test_a_candidate_that_spoils_the_device_is_named_and_left_out_from_then_on(
    machine, candidate, compete, tmp_path, source
):
    fault = RuntimeError(f"{source}: an illegal memory access was encountered")
    compete(candidate("one", 1e-3), candidate("bad", 1e-4, spoil=raise_(fault)))
    path = tmp_path / "tuning.jsonl"
    with pytest.raises(DeviceContextLost, match="illegal memory access"):
        tune(CELLS[:1], machine, path=path, say=lambda _: None)
    tuned = tune(CELLS[:1], machine, path=path, say=lambda _: None)
    assert tuned.n_measured == 1
    assert winner(tuned.lines[0].measured).name == "one"
    assert "illegal memory access" in tuned.lines[0].measured[1].reason


def test_a_candidate_that_fails_while_it_is_timed_is_named_and_left_out_from_then_on(
    machine, candidate, compete, tmp_path
):
    calls = itertools.count()

    def fails_later(out):
        if next(calls) == 3:
            raise RuntimeError("out of memory")
        return out

    compete(candidate("one", 1e-3), candidate("two", 1e-4, spoil=fails_later))
    path = tmp_path / "tuning.jsonl"
    with pytest.raises(DeviceContextLost) as crashed:
        tune(CELLS[:1], machine, path=path, say=lambda _: None)
    assert crashed.value.candidate == "two"
    assert winner(tune(CELLS[:1], machine, path=path, say=lambda _: None).lines[0].measured).name == "one"


def test_where_callers_wait_as_long_the_least_device_time_wins(machine, candidate):
    times = iter((3e-6, 2e-6))
    on_device = replace(machine, device_s=lambda _: next(times))
    equal = [candidate("default", 1e-3), candidate("other", 1e-3)]
    assert winner(measure_cell(CELLS[0], equal, on_device, crashed={}).measured).name == "other"


def timed(name, seconds, *, width=0.01, implementation="epilogue", **rest):
    return Measured(
        name=name,
        implementation=implementation,
        seconds=seconds,
        low_s=seconds * (1 - width),
        high_s=seconds * (1 + width),
        **rest,
    )


def test_the_default_stays_unless_another_is_clearly_faster():
    assert winner([timed("default", 1.015), timed("other", 1.0)]).name == "default"
    assert winner([timed("default", 1.05, width=0.05), timed("other", 1.0)]).name == "default"
    assert winner([timed("default", 1.05), timed("other", 1.0)]).name == "other"


def test_without_a_right_result_there_is_no_winner():
    assert winner([Measured(name="a", reason="wrong at …")]) is None
    assert ways_from([(CELLS[0], [Measured(name="a", implementation="single", reason="wrong at …")])]) == {}


def test_of_values_that_are_as_good_the_one_nearest_to_the_general_value_is_taken():
    measured = [Measured(name=str(v), value=v, seconds=s) for v, s in ((48, 1.009), (24, 1.0), (12, 1.005), (96, 1.5))]
    assert policy_value(measured, Question.ROW_SPLIT_ROWS) == 48
    assert policy_value(measured[1:], Question.ROW_SPLIT_ROWS) == 24


def test_a_number_is_found_with_the_numbers_that_stood_while_it_was_asked():
    cell = Cell(
        question=Question.ROW_SPLIT_ROWS,
        weights=Weights.PACKED,
        shapes=((1, 2, 3),),
        others=Policy(serial_flop=7),
        **MLP,
    )
    found = policies_from([(cell, [Measured(name="96", value=96, seconds=1.0)])])
    assert found == {(Operation.MLP, NumberFormat.FLOAT32): Policy(serial_flop=7, row_split_rows=96)}


def test_ways_hold_the_fastest_and_the_tiles_by_which_another_beats_its_own_rule():
    measured = [
        timed("single by its rule", 1.0, implementation="single"),
        timed("epilogue by its rule", 2.0),
        timed("epilogue wide", 1.5, tiles={"n_warps": 8}),
        timed("pointwise by its rule", 3.0, implementation="pointwise"),
    ]
    (ways,) = ways_from([(CELLS[0], measured)]).values()
    shape = {"rows": 2, "dim": 8, "hidden": 16}
    assert ways == (
        Way(**shape, implementation=Implementation.SINGLE),
        Way(**shape, implementation=Implementation.EPILOGUE, tiles={"n_warps": 8}, is_fastest=False),
    )


def test_what_was_found_replaces_what_the_table_knew_of_the_same_shapes_only():
    def entry(answers, known=None):
        return merged(known, CIRCUMSTANCES, answers)

    old = entry([(cell, [timed("a", 1.0, implementation="pointwise")]) for cell in CELLS])
    new = entry([(CELLS[1], [timed("b", 1.0, implementation="single")])], old)
    (ways,) = new.ways.values()
    assert [(way.rows, str(way.implementation)) for way in ways] == [(2, "pointwise"), (3, "single")]


def test_the_table_is_written_with_other_devices_untouched(machine, candidate, compete, tmp_path):
    compete(candidate("slow", 2e-3), candidate("fast", 1e-3, tiles={"n_warps": 4}))
    other = Entry(device="another", n_threads=1, torch="2", triton=None)
    table = tmp_path / "tuned.json"
    table.write_text(json_from_entries([other]))
    write_table(table, tune(CELLS, machine, path=tmp_path / "tuning.jsonl", say=lambda _: None), machine)
    written = entries_from_json(table.read_text())
    assert written["another"] == other
    (ways,) = written["a device"].ways.values()
    assert [(way.rows, dict(way.tiles)) for way in ways] == [(2, {"n_warps": 4}), (3, {"n_warps": 4})]


def test_a_disturbed_or_wrong_cell_says_so(machine, candidate, compete, tmp_path):
    compete(candidate("right", 1e-3), candidate("wrong", 1e-6, spoil=lambda out: out + 1))
    (line,) = tune(CELLS[:1], machine, path=tmp_path / "a.jsonl", say=lambda _: None).lines
    said = cell_summary(replace(line, disturbed="a backup"))
    assert said.startswith("right, 1000.0 µs, of 2; wrong: wrong at mlp gelu float32")
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


def run(*arguments):
    return CliRunner().invoke(tuning_command.main, [*arguments])


def test_names_that_do_not_exist_are_refused_with_the_choices():
    assert "choose from linear, mlp, gated_mlp" in run("--device", "cpu", "--operation", "conv").output
    assert "choose from float32, tf32" in run("--device", "cpu", "--dtype", "int8").output
    assert "a CPU has none" in run("--device", "cpu", "--dtype", "tf32").output
    assert "too little for a table" in run("--device", "cpu", "--quick", "--write").output


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_without_a_gpu_nothing_is_measured_and_the_exit_code_says_so():
    answer = run("--device", "cuda")
    assert (answer.exit_code, "torch sees none" in answer.output) == (3, True)


@pytest.mark.slow
def test_the_command_tunes_this_cpu_once_and_a_second_call_measures_nothing(request, tmp_path):
    arguments = ["--device", "cpu", "--quick", "--operation", "linear", "--dtype", "float32"]
    command = [sys.executable, "-m", "benchmarks.tune", *arguments, "--results", str(tmp_path / "tuning.jsonl")]
    environ = {**os.environ, "TMPDIR": str(tmp_path)}

    def said():
        done = subprocess.run(
            command, cwd=request.config.rootpath, env=environ, capture_output=True, text=True, check=True, timeout=300
        )
        return done.stdout

    assert "measured 5 cells" in said()
    assert "everything is measured already: 5 cells" in said()
    lines = [json.loads(line) for line in (tmp_path / "tuning.jsonl").read_text().splitlines()]
    assert {line["cell"]["question"] for line in lines} == {*Question}
    assert all(one["error_rel"] < 1e-5 for line in lines for one in line["measured"])
