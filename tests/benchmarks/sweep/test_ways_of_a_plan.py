"""The plan's ways through its groups, visit by visit."""

from dataclasses import replace

import pytest

from benchmarks.ruler.plan.axes import QUICK, groups
from benchmarks.ruler.plan.points import Contender, DeviceKind, Operation
from benchmarks.ruler.record.outcome import State, TimingOutcome, Visit
from benchmarks.ruler.sweep.sweep_plan import Plan, empty_sweep

FUSED, COMPILED = (Contender(provider=name) for name in ("fused", "compiled"))
VISIT = Visit(measured_at="2026-01-02", n_samples=1, median_s=1.0)


@pytest.fixture
def sweep(run, tmp_path):
    chosen = tuple(group for name in Operation for group in groups(QUICK, operation=name, device=DeviceKind.CPU))
    return empty_sweep(Plan(run=run, path=tmp_path / "j", device=DeviceKind.CPU, threads=1, axes=QUICK, groups=chosen))


@pytest.fixture
def lines(timing_line):
    """The lines of a group's contenders after so many visits, with other states and another group id where asked."""

    def of(group, n_visits, *, states=None, group_id="abcdef01", only=None):
        outcome = TimingOutcome(state=State.OK, visits=(VISIT,) * n_visits)
        return [
            replace(
                timing_line,
                head=replace(timing_line.head, shape=group.shape, contender=contender),
                group=group_id,
                outcome=outcome if state is State.OK else TimingOutcome(state=state, reason="so"),
            )
            for contender in group.contenders
            if only is None or contender in only
            for state in [(states or {}).get(contender, State.OK)]
        ]

    return of


def test_all_groups_are_visited_once_then_again_on_the_way_back_then_again(sweep, lines):
    plan, ways = sweep.plan.groups, []
    for visit in (1, 2, 3):
        ways.append(sweep.due(visit))
        for group in sweep.due(visit):
            sweep = sweep.with_lines(lines(group, sweep.n_visits(group) + 1))
    assert ways == [plan, plan[::-1], plan]
    assert sweep.untimed() == ()


def test_an_interrupted_sweep_goes_on_at_the_visits_that_are_missing(sweep, lines):
    first, second, *others = sweep.plan.groups
    sweep = sweep.with_lines([*lines(first, 2), *lines(second, 1)])
    assert sweep.due(1) == tuple(others)
    assert sweep.due(2) == (*others[::-1], second)
    assert sweep.due(3) == sweep.plan.groups
    assert sweep.unprofiled() == ()


def test_a_group_of_which_a_visit_was_torn_is_visited_again_and_one_with_a_new_contender_begins_anew(sweep, lines):
    group = sweep.plan.groups[0]
    torn = sweep.with_lines([*lines(group, 1), *lines(group, 2, only={group.contenders[0]})])
    assert torn.n_visits(group) == 1
    assert len(torn.outcomes(group)) == 3
    newcomer = sweep.with_lines(lines(group, 3, only=set(group.contenders[:2])))
    assert (newcomer.n_visits(group), newcomer.outcomes(group)) == (0, {})
    apart = [*lines(group, 3, only=set(group.contenders[:2])), *lines(group, 1, group_id="12345678")[2:]]
    assert sweep.with_lines(apart).n_visits(group) == 0
    complete = [*lines(group, 3, only=set(group.contenders[:2])), *lines(group, 3, group_id="12345678")[2:]]
    assert sweep.with_lines(complete).n_visits(group) == 3


def test_what_has_failed_is_not_tried_again(sweep, lines):
    first, second, *_ = sweep.plan.groups
    sweep = sweep.with_lines(
        [
            *lines(first, 1, states={FUSED: State.CRASHED, COMPILED: State.UNAVAILABLE}),
            *lines(second, 1, states=dict.fromkeys(second.contenders, State.TIMED_OUT)),
        ]
    )
    assert (sweep.n_visits(first), sweep.n_visits(second)) == (1, 3)
    assert first in sweep.due(2)
    assert second not in sweep.due(3)
