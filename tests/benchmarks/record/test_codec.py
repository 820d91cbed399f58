"""The codec of outcomes, plans and messages."""

import json
from pathlib import Path

import pytest

from benchmarks.ruler.plan.axes import groups
from benchmarks.ruler.plan.campaign_axes import CAMPAIGN
from benchmarks.ruler.plan.points import DeviceKind, Operation, Shape
from benchmarks.ruler.record.codec import json_from_value, value_from_json
from benchmarks.ruler.record.outcome import ProfileOutcome, TimingOutcome
from benchmarks.ruler.sweep.sweep_plan import Plan, read_plan, write_plan


def through_json(value):
    return value_from_json(type(value), json.loads(json.dumps(json_from_value(value))))


def test_outcomes_are_read_as_they_were_written(timing_line, profile_line):
    assert through_json(timing_line.outcome) == timing_line.outcome
    assert through_json(profile_line.outcome) == profile_line.outcome


def test_a_plan_is_read_as_it_was_written_with_axes_of_several_parts(tmp_path, run):
    chosen = tuple(group for name in Operation for group in groups(CAMPAIGN, operation=name, device=DeviceKind.CUDA))
    plan = Plan(run=run, path=Path("/j"), device=DeviceKind.CUDA, threads=2, axes=CAMPAIGN, groups=chosen)
    write_plan(tmp_path / "plan.json", plan)
    assert read_plan(tmp_path / "plan.json") == plan


def test_keys_of_others_are_passed_over_and_missing_ones_take_their_default():
    assert value_from_json(TimingOutcome, {"state": "ok", "later": 1}) == TimingOutcome(state="ok")
    assert value_from_json(ProfileOutcome, {"state": "ok"}).operators == ()


@pytest.mark.parametrize("wrong", [{"batch": "x"}, {"operation": "conv"}, {"batch": 1.5}])
def test_a_value_of_another_type_is_refused(shape, wrong):
    with pytest.raises((TypeError, ValueError)):
        value_from_json(Shape, {**json_from_value(shape), **wrong})
