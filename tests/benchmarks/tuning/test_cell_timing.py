"""A cell is timed fairly: wrong candidates never win, whatever they do to the process is theirs."""

import itertools
import re
from dataclasses import replace

import pytest

from benchmarks.ruler.tuning.candidates import Candidate, CannotBuild
from benchmarks.ruler.tuning.cell_timing import DeviceContextLost, measure_cell
from benchmarks.ruler.tuning.cells import Cell, Question
from benchmarks.ruler.tuning.command import tune
from benchmarks.ruler.tuning.conclusions import winner
from fused_mlp.vocabulary import Weights
from tests.benchmarks.tuning.cases import CELLS, MLP, by_name, raise_


def test_the_fastest_right_candidate_wins(machine, candidate):
    answer = measure_cell(CELLS[0], [candidate("slow", 2e-3), candidate("fast", 1e-3)], machine, crashed={})
    assert winner(answer.measured).name == "fast"
    assert by_name(answer)["fast"].seconds == pytest.approx(1e-3)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda out: out + 1e-3, "wrong at mlp gelu_tanh float32.*is off by"),
        (lambda out: out * float("nan"), "holds NaN"),
    ],
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
