"""A provider's time in company, alone and by torch's Timer."""

import threading
from dataclasses import replace
from types import SimpleNamespace

import pytest

from benchmarks.ruler.checks import company
from benchmarks.ruler.checks.company import AXES, OPERATION, PROVIDERS, ROWS_OF_ROUND, Case, Row, apart_from, report
from benchmarks.ruler.checks.conclusion import Kind
from benchmarks.ruler.checks.timer_process import TimerProcess
from benchmarks.ruler.checks.turns import Ring
from benchmarks.ruler.plan.axes import groups
from benchmarks.ruler.plan.points import DeviceKind, Operation
from benchmarks.ruler.plan.settings import Settings
from benchmarks.ruler.record.codec import json_from_value
from benchmarks.ruler.record.outcome import State, TimingOutcome
from benchmarks.ruler.worker.process import Answer


def row(company_s, alone_s, timer_s, **changes):
    named = Row(provider="eager", shape="mlp", company_s=company_s, alone_s=alone_s, timer_s=timer_s, single_s=timer_s)
    return replace(named, **changes)


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
    scattered = [row(1e-4 * by, 1e-4, 1e-4) for by in (0.9, 1.1, 0.93, 1.07)]
    assert Case(rounds=tuple(scattered)).is_within is None
    lines, found = report([*often(1e-4, 1e-4, 1e-4), *(replace(one, shape="linear") for one in scattered)])
    assert "cannot be told" in lines[2]
    assert "1 of 1 within 3 % of both" in found.words
    assert "the rounds lie too far apart to tell, 1 of 2 cases not counted" in found.words


def test_an_interval_is_students_of_the_logarithms():
    middle, low, high = apart_from([1.02, 1.04, 1.00, 1.02])
    assert middle == pytest.approx(0.02, abs=1e-3)
    half = 3.182 * 0.01633 / 2  # of 3 degrees of freedom; Student, 1908
    assert (low, high) == pytest.approx((0.02 - half, 0.02 + half), abs=1e-3)
    assert str(apart_from([1.02])) == "+2.0 %"


def test_nothing_measured_is_no_pass():
    assert report([])[1].kind is Kind.UNDECIDED


WAITED = "other processes used 1.0 cores while this was measured, which waited for a processor 50 % of the time"


def test_what_was_disturbed_is_shown_and_not_counted():
    apart = row(100e-6, 50e-6, 100e-6, shape="linear", taken=f"{WAITED}; {WAITED} again")
    lines, found = report([*often(1e-4, 1e-4, 1e-4), apart, apart])
    assert lines[2].endswith(f"not counted: {WAITED}; and 1 more")
    assert str(found) == (
        "pass: 1 of 1 within 3 % of both (5 % below 20 µs); the machine was disturbed, 1 of 2 cases not counted"
    )
    assert report([apart])[1].kind is Kind.UNDECIDED


def test_rounds_in_which_others_took_the_machines_time_do_not_count():
    taken = [row(1e-4, 2e-4, 2e-4, taken=WAITED)] * 3
    lines, found = report([*taken, *often(1e-4, 1e-4, 1e-4)])
    assert found.kind is Kind.PASS
    assert lines[1].endswith("within, 4 of 7 rounds counted")
    assert report([*taken, *often(1e-4, 0.9e-4, 1e-4)])[1].kind is Kind.FAIL
    assert report(taken)[1].kind is Kind.UNDECIDED


def test_what_all_shapes_of_a_provider_say_together_stands_below():
    shapes = [one for i in range(3) for one in often(1e-4, 1e-4, (1 + i / 100) * 1e-4, shape=f"batch {i}")]
    *_, last = report(shapes)[0]
    assert last.startswith("eager          3 shapes")
    assert "-1.0 % (" in last


def test_a_round_without_a_time_fails_the_check():
    failed = Row(provider="eager", shape="mlp", failure="crashed: ended")
    assert report([*often(1e-4, 1e-4, 1e-4), failed])[1].kind is Kind.FAIL


def test_a_provider_without_a_time_fails_the_check():
    lines, found = report([*often(1e-4, 1e-4, 1e-4), Row(provider="fused", shape="mlp", failure="wrong: implausible")])
    assert lines[2].endswith("wrong: implausible")
    assert found.kind is Kind.FAIL
    assert "1 have no time" in found.words


def test_as_many_rows_are_announced_as_are_measured():
    shapes = groups(AXES, operation=OPERATION, device=DeviceKind.CPU)
    assert len(shapes) * len(PROVIDERS) == ROWS_OF_ROUND


def test_all_are_asked_at_once_so_that_they_can_take_turns(monkeypatch):
    """Each waits for all the others, as in a ring; with too few threads some would be asked when others are done."""
    all_asked = threading.Barrier(1 + 2 * len(PROVIDERS), timeout=10)
    settings = Settings(threads=1, is_uncommitted=True)

    class Asked:
        def __init__(self, *_, **__):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def start(self):
            pass

        def ask(self, request):
            all_asked.wait()
            found = json_from_value(TimingOutcome(state=State.OK, latency_s=1e-4))
            outcomes = [{"event": "outcome", "contender": str(one), "outcome": found} for one in request.contenders]
            return Answer(messages=tuple(outcomes), conditions={}, death=None)

        def seconds(self, _):
            all_asked.wait()
            return 1e-4, 0.9e-4

    monkeypatch.setattr(company, "WorkerProcess", Asked)
    monkeypatch.setattr(company, "TimerProcess", Asked)
    monkeypatch.setattr(
        company, "scratch_speed", lambda *_, **__: SimpleNamespace(best_s={}, learn_from=lambda _: None)
    )
    found = list(company.rows(settings, rounds=1))
    assert len(found) == ROWS_OF_ROUND
    assert {(one.company_s, one.alone_s, one.timer_s, one.single_s) for one in found} == {(1e-4, 1e-4, 1e-4, 0.9e-4)}


def timer(settings, provider, ring):
    return TimerProcess(settings, provider, ring=ring.path, n_turns=3, turn_s=0.01)


def test_the_timer_times_a_provider_in_a_process_of_its_own_again_and_again(shape):
    assert shape.operation is Operation.MLP
    settings = Settings(threads=1, is_uncommitted=True)
    with (
        Ring() as ring,
        timer(settings, "fused:packed", ring) as packed,
        timer(settings, "fused-single", ring) as unavailable,
    ):
        found = [packed.seconds(each) for each in (shape, replace(shape, batch=2 * shape.batch), shape)]
        assert all(0 < each < 0.1 for both in found for each in both)
        assert unavailable.seconds(shape) is None


def test_a_timer_that_died_is_said_to_have(shape):
    with Ring() as ring, timer(Settings(threads=1, is_uncommitted=True), "eager", ring) as dead:
        dead._process.kill()
        dead._process.wait()
        for _ in range(2):
            with pytest.raises(RuntimeError, match="ended with exit code -9"):
                dead.seconds(shape)
