"""A provider's time in company, alone and by torch's Timer."""

import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from benchmarks.ruler.checks import company, self_check
from benchmarks.ruler.checks.company import (
    AXES,
    OPERATION,
    PROVIDERS,
    ROWS_OF_ROUND,
    TurnTime,
    ratios_beside,
)
from benchmarks.ruler.checks.company_report import Case, Row, apart_from, report
from benchmarks.ruler.checks.conclusion import Kind
from benchmarks.ruler.checks.timer_process import TimerTurn
from benchmarks.ruler.plan.axes import groups
from benchmarks.ruler.plan.points import Allocator, DeviceKind
from benchmarks.ruler.plan.settings import Settings
from benchmarks.ruler.record.codec import json_from_value
from benchmarks.ruler.record.outcome import State, TimingOutcome
from benchmarks.ruler.worker.process import Answer, Death


def row(company_s, alone_s, timer_s, **changes):
    over_timer = company_s / timer_s
    ratios = {"over_alone": company_s / alone_s, "over_timer": over_timer, "over_single": over_timer}
    return replace(Row(provider="eager", shape="mlp", company_s=company_s, **ratios), **changes)


def often(*times, **changes):
    """Return rounds that differ by a thousandth."""
    return [row(times[0] * (1 + i / 1000), *times[1:], **changes) for i in (-1, 0, 1, 0)]


@pytest.mark.parametrize(
    ("times", "is_within"),
    [
        ((100e-6, 98e-6, 102e-6), True),
        ((100e-6, 96e-6, 100e-6), False),
        ((100e-6, 100e-6, 104e-6), False),
        ((100e-6, 104e-6, 100e-6), False),
        ((100e-6, 97.1e-6, 100e-6), None),
        ((100e-6, 100e-6, 103e-6), None),
        ((10e-6, 9.6e-6, 10.4e-6), True),
        ((10e-6, 9.4e-6, 10e-6), False),
    ],
)
def test_three_ways_agree_within_3_percent_and_5_of_a_short_call(times, is_within):
    assert Case(rounds=tuple(often(*times))).is_within is is_within
    kind = {True: Kind.PASS, False: Kind.FAIL, None: Kind.UNDECIDED}[is_within]
    assert report(often(*times))[1].kind is kind


def test_a_single_round_or_ones_that_lie_apart_tell_nothing():
    assert Case(rounds=(row(1e-4, 1e-4, 1e-4),)).is_within is None
    assert (
        "a single round that counts tells nothing, 1 of 1 cases not counted" in report([row(1e-4, 1e-4, 1e-4)])[1].words
    )
    scattered = [row(1e-4 * by, 1e-4, 1e-4) for by in (0.9, 1.1, 0.93, 1.07)]
    assert Case(rounds=tuple(scattered)).is_within is None
    lines, found = report([*often(1e-4, 1e-4, 1e-4), *(replace(one, shape="linear") for one in scattered)])
    assert "cannot be told" in lines[4]
    assert "1 of 1 within 3 % of both" in found.words
    assert "the rounds lie too far apart to tell, 1 of 2 cases not counted" in found.words


def test_an_interval_is_students_of_the_logarithms():
    middle, low, high = apart_from([1.02, 1.04, 1.00, 1.02])
    assert middle == pytest.approx(0.02, abs=1e-3)
    half = 3.182 * 0.01633 / 2  # of 3 degrees of freedom; Student, 1908
    assert (low, high) == pytest.approx((0.02 - half, 0.02 + half), abs=1e-3)
    assert str(apart_from([1.02])) == "+2.0 %"


def test_of_many_rounds_it_is_the_medians_and_one_unlucky_process_moves_no_end():
    rounds = [1.005, 1.01, 0.99, 1.0, 1.02, 1.015, 0.995, 1.0, 0.6]
    assert apart_from(rounds) == pytest.approx((0.0, -0.01, 0.015))  # the second and the eighth of nine
    assert apart_from(rounds[:-2] + rounds[-1:]).low < -0.1
    assert apart_from([*rounds, float("nan")]) == apart_from(rounds)


def test_nothing_measured_is_no_pass():
    assert report([])[1].kind is Kind.UNDECIDED


WAITED = "other processes used 1.0 cores while this was measured, which waited for a processor 50 % of the time"


def test_what_was_disturbed_is_shown_and_not_counted():
    apart = row(100e-6, 50e-6, 100e-6, shape="linear", taken=f"{WAITED}; {WAITED} again")
    lines, found = report([*often(1e-4, 1e-4, 1e-4), apart, apart])
    assert lines[4].endswith(f"not counted: {WAITED}; and 1 more")
    assert str(found) == (
        "pass: 1 of 1 within 3 % of both (5 % below 20 µs); the machine was disturbed, 1 of 2 cases not counted"
    )
    assert report([apart])[1].kind is Kind.UNDECIDED


def test_rounds_in_which_others_took_the_machines_time_do_not_count():
    taken = [row(1e-4, 2e-4, 2e-4, taken=WAITED)] * 3
    lines, found = report([*taken, *often(1e-4, 1e-4, 1e-4)])
    assert found.kind is Kind.PASS
    assert lines[2].endswith("within, 4 of 7 rounds counted")
    assert report([*taken, *often(1e-4, 0.9e-4, 1e-4)])[1].kind is Kind.FAIL
    assert report(taken)[1].kind is Kind.UNDECIDED


def test_what_all_shapes_of_a_provider_say_together_stands_below():
    shapes = [one for i in range(3) for one in often(1e-4, 1e-4, (1 + i / 100) * 1e-4, shape=f"batch {i}")]
    *_, last = report(shapes)[0]
    assert last.split()[:3] == ["eager", "3", "shapes"]
    assert "-1.0 % (" in last


def test_columns_lie_below_their_heads_whatever_the_shapes_are_called():
    head, shape, first, _, second, title, of_all = report(
        [*often(1e-4, 1e-4, 1e-4, shape="x" * 60), *often(1.2e-4, 1e-4, 1e-4)]
    )[0]
    assert (shape, title) == ("x" * 60, "all shapes of a provider together")
    assert {line.index(" µs") + 3 for line in (first, second)} == {head.index("company") + len("company")}
    ends = {len(line[: line.rindex(")") + 1]) for line in (first, second, of_all)}
    assert ends == {head.index("over it, one input") + len("over it, one input")}


def test_a_round_without_a_time_fails_the_check():
    failed = Row(provider="eager", shape="mlp", failure="crashed: ended")
    assert report([*often(1e-4, 1e-4, 1e-4), failed])[1].kind is Kind.FAIL


def test_a_provider_without_a_time_fails_the_check():
    lines, found = report([*often(1e-4, 1e-4, 1e-4), Row(provider="fused", shape="mlp", failure="wrong: implausible")])
    assert lines[-1].endswith("wrong: implausible")
    assert found.kind is Kind.FAIL
    assert "1 have no time" in found.words


def test_as_many_rows_are_announced_as_are_measured():
    shapes = groups(AXES, operation=OPERATION, device=DeviceKind.CPU)
    assert len(shapes) * len(PROVIDERS) == ROWS_OF_ROUND


def test_a_turn_is_compared_with_the_nearest_of_the_others_and_with_none_that_is_far_away():
    others = [TurnTime(10.0, 1.0), TurnTime(20.0, 2.0)]
    turns = [TurnTime(9.6, 3.0), TurnTime(10.3, 4.0), TurnTime(15.0, 5.0), TurnTime(20.4, 6.0), TurnTime(20.6, 7.0)]
    assert ratios_beside(turns, others) == [3.0, 4.0, 3.0]
    assert ratios_beside(turns, []) == []
    assert ratios_beside([], others) == []


@pytest.fixture
def rows_of(monkeypatch):
    """Rows of a round whose processes have the given turns: moments, and seconds of a call by process."""

    def measured(moments, times_of_turn, *, calls_per_sample=8, dead_timer=None):
        """times_of_turn: of a moment's index in company, alone (None: taken), by the Timer twice, and what took its.

        dead_timer: provider whose Timer has ended.
        """
        # Each waits for all the others, as in a ring; with too few threads some would be asked when others are done.
        all_asked = threading.Barrier(1 + 2 * len(PROVIDERS), timeout=60)
        times = [times_of_turn(i) for i in range(len(moments))]
        allocators = []

        class Asked:
            def __init__(self, *named, allocator=None, **__):
                self.provider = named[-1] if named else None
                allocators.append(allocator)

            def __enter__(self):
                return self

            def __exit__(self, *_):
                pass

            def start(self):
                pass

            def ask(self, request):
                all_asked.wait()
                which = 0 if len(request.contenders) > 1 else 1
                found = TimingOutcome(state=State.OK, latency_s=1e-4, calls_per_sample=calls_per_sample)
                turns = [
                    {
                        "event": "turn",
                        "at_s": at,
                        "sample_s": {str(one): (time[which] or 1.0) * calls_per_sample for one in request.contenders},
                        "taken": WAITED if time[which] is None else None,
                    }
                    for at, time in zip(moments, times, strict=True)
                ]
                outcomes = [
                    {"event": "outcome", "contender": str(one), "outcome": json_from_value(found)}
                    for one in request.contenders
                ]
                return Answer(messages=(*turns, *outcomes), conditions={}, death=None)

            def turns(self, _):
                all_asked.wait()
                if self.provider == dead_timer:
                    raise RuntimeError("torch's Timer ended with exit code -9")
                return tuple(TimerTurn(at, *time[2:]) for at, time in zip(moments, times, strict=True))

        monkeypatch.setattr(company, "WorkerProcess", Asked)
        monkeypatch.setattr(company, "TimerProcess", Asked)
        monkeypatch.setattr(
            company, "scratch_speed", lambda *_, **__: SimpleNamespace(best_s={}, learn_from=lambda _: None)
        )
        settings = Settings(threads=1, is_uncommitted=True, allocator=Allocator.RETURNING)
        found = list(company.rows(settings, rounds=1))
        assert allocators.count(Allocator.RETURNING) == 1 + len(PROVIDERS), "workers have the Timer's allocator"
        assert len(found) == ROWS_OF_ROUND
        return found

    return measured


MOMENTS = [0.24 * i for i in range(40)]


def test_what_a_machine_does_for_seconds_it_does_to_all_and_tells_nothing(rows_of):
    def times_of_turn(i):
        slow = 1.5 if 17 <= i < 33 else 1.0
        return 1.02e-4 * slow, 1e-4 * slow, 1.03e-4 * slow, 0.9e-4 * slow

    for one in rows_of(MOMENTS, times_of_turn):
        assert one.over_alone == pytest.approx(1.02)
        assert one.over_timer == pytest.approx(1.02 / 1.03)
        assert one.over_single == pytest.approx(1.02 / 0.9)
        assert (one.taken, one.failure) == (None, None)


def test_turns_that_were_disturbed_on_one_side_do_not_count_and_too_few_make_no_round(rows_of):
    def undisturbed(n):
        return lambda i: (1e-4, 1e-4 if i < n else None, 1e-4, 1e-4)

    far = [2.0 * i for i in range(40)]
    assert {one.taken for one in rows_of(far, undisturbed(5))} == {None}
    assert {one.taken for one in rows_of(far, undisturbed(4))} == {
        f"undisturbed turns side by side: 4, not 5: {WAITED}"
    }


def test_a_timer_that_has_died_is_told_at_its_provider_and_the_others_are_judged(rows_of):
    found = rows_of(MOMENTS, lambda _: (1e-4,) * 4, dead_timer="compiled")
    assert {one.failure for one in found if one.provider == "compiled"} == {"torch's Timer ended with exit code -9"}
    assert {one.failure for one in found if one.provider != "compiled"} == {None}
    assert {one.over_timer for one in found if one.provider != "compiled"} == {1.0}


@pytest.mark.parametrize(("index", "of_rivals"), [(1, "beside compiled: it exited"), (None, "it exited")])
def test_whoever_took_the_process_down_that_all_share_is_named_at_its_rivals(shape, index, of_rivals):
    asked = company._request(shape, PROVIDERS, SimpleNamespace(best_s={}), 0)
    death = Death(state=State.CRASHED, reason="it exited", contender_index=index)
    found = company._found(Answer(messages=(), conditions={}, death=death), asked)
    reasons = {name: one.outcome.reason for name, one in found.items()}
    assert reasons == {**dict.fromkeys(PROVIDERS, of_rivals), "compiled": "it exited"}


def test_turns_of_the_timer_that_were_disturbed_do_not_count_either(rows_of):
    def times_of_turn(i):
        return (1e-4, 1e-4, 1e-4, 1e-4) if i < 4 else (1e-4, 1e-4, 3e-4, 3e-4, WAITED)

    found = rows_of([2.0 * i for i in range(40)], times_of_turn)
    assert {one.over_timer for one in found} == {1.0}
    assert {one.taken for one in found} == {f"undisturbed turns side by side: 4, not 5: {WAITED}"}


def test_a_case_of_which_no_turn_was_undisturbed_in_any_round_is_shown_without_a_ratio(rows_of):
    found = rows_of(MOMENTS, lambda _: (1e-4, None, 1e-4, 1e-4))
    lines, conclusion = report([*found, *found])
    assert conclusion.kind is Kind.UNDECIDED
    of_cases = [line for line in lines if " µs" in line]
    assert all(line.split("µs")[1].split()[0] == "?" for line in of_cases)
    assert len(of_cases) == ROWS_OF_ROUND


def test_processes_that_did_not_take_turns_are_told_to_have_not(rows_of):
    found = rows_of([2.0 * i for i in range(4)], lambda _: (1e-4,) * 4)
    (taken,) = {one.taken for one in found}
    assert taken == "undisturbed turns side by side: 4, not 5: the processes did not take turns together"


@pytest.mark.parametrize("end", [KeyboardInterrupt, RuntimeError])
def test_rounds_that_were_measured_are_shown_where_the_check_ends_early(monkeypatch, end):
    def rows(*_, **__):
        yield from often(1e-4, 0.98e-4, 1e-4)
        raise end

    monkeypatch.setattr(company, "rows", rows)
    ended = CliRunner().invoke(self_check.main, ["company"])
    assert ended.exit_code != 0
    assert "mlp\n  eager " in ended.stdout
    assert "+2.0 % (" in ended.stdout
    assert "pass" not in ended.stdout
