"""How long a sweep is said to take."""

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

from benchmarks.ruler.measure.clock import ColdClock
from benchmarks.ruler.measure.timing import sample_group
from benchmarks.ruler.plan.axes import FULL, QUICK, groups
from benchmarks.ruler.plan.points import CachePolicy, Contender, DeviceKind, Operation, Pass
from benchmarks.ruler.plan.roofline import Ceilings
from benchmarks.ruler.plan.settings import Settings
from benchmarks.ruler.record.outcome import State, TimingOutcome, Visit
from benchmarks.ruler.sweep import estimate as module
from benchmarks.ruler.sweep.estimate import (
    CEILINGS_S,
    Estimate,
    call_seconds,
    flush_seconds,
    profile_seconds,
    sampling_seconds,
    visit_seconds,
)
from benchmarks.ruler.sweep.measure import measure
from benchmarks.ruler.sweep.progress import Phase, Progress, text_from_seconds
from benchmarks.ruler.sweep.summary import announce
from benchmarks.ruler.sweep.sweep_ceilings import SweepCeilings
from benchmarks.ruler.sweep.sweep_plan import Plan, empty_sweep
from benchmarks.ruler.worker.policies import FLUSHED_CACHES, fixed_calls, policy_of_visit
from tests.benchmarks.measure.turned_clock import CalmWatch, FakeClock, Op

CEILINGS = Ceilings(
    device="a CPU",
    measured_at="2026-01-02",
    matmul_flop_per_s={"float32": 1e11},
    copy_bytes_per_s=1e10,
    vector_instruction_per_s=5e10,
    dispatch_s=1e-6,
)


def policy_of(axes, device=DeviceKind.CPU):
    return policy_of_visit(device, budget_s=axes.budget_s, n_visits=axes.visits)


def whole_s(axes, ceilings=CEILINGS):
    total_s, policy = 0.0, policy_of(axes)
    for operation in axes.operations:
        for group in groups(axes, operation=operation, device=DeviceKind.CPU):
            call_s = call_seconds(group.shape, ceilings, device=DeviceKind.CPU, threads=2)
            first, *others = (
                visit_seconds(group.shape, group.contenders, policy, call_s=call_s, flush_s=0.0, is_first=visit == 0)
                for visit in range(axes.visits)
            )
            assert all(first > other for other in others)
            total_s += first + sum(others) + profile_seconds(group.shape, group.contenders, call_s=call_s)
    return total_s


VISIT = Visit(measured_at="2026-01-02", n_samples=1, median_s=1.0)


@pytest.fixture
def sweep(run, tmp_path):
    chosen = tuple(group for name in Operation for group in groups(QUICK, operation=name, device=DeviceKind.CPU))
    return empty_sweep(Plan(run=run, path=tmp_path / "j", device=DeviceKind.CPU, threads=1, axes=QUICK, groups=chosen))


def visited(sweep, timing_line, chosen, *, n_visits=3):
    """Return the sweep after so many visits of the `chosen` groups."""
    outcome = TimingOutcome(state=State.OK, visits=(VISIT,) * n_visits)
    heads = [
        replace(timing_line.head, shape=group.shape, contender=contender)
        for group in chosen
        for contender in group.contenders
    ]
    return sweep.with_lines([replace(timing_line, head=head, outcome=outcome) for head in heads])


def test_what_groups_have_taken_corrects_what_is_expected_of_the_others(sweep):
    estimate = Estimate(lambda: CEILINGS)
    before = estimate.seconds_left(sweep)
    for group in sweep.plan.groups[:2]:
        estimate.add(sweep.plan, group, Phase.TIMING, is_first=True, seconds=100.0)
    assert estimate.seconds_left(sweep) > 2 * before
    for group in sweep.plan.groups:
        estimate.add(sweep.plan, group, Phase.TIMING, is_first=True, seconds=0.0)
        estimate.add(sweep.plan, group, Phase.PROFILING, is_first=False, seconds=0.0)
    assert estimate.seconds_left(sweep) < 4 * before


def test_visits_and_profiles_that_are_done_are_not_left(sweep, timing_line, profile_line):
    estimate, every = Estimate(lambda: CEILINGS), sweep.plan.groups
    left = [
        estimate.seconds_left(each)
        for each in (
            sweep,
            visited(sweep, timing_line, every[:6], n_visits=1),
            visited(sweep, timing_line, every, n_visits=1),
            visited(sweep, timing_line, every, n_visits=2),
            visited(sweep, timing_line, every, n_visits=3),
        )
    ]
    assert left == sorted(left, reverse=True)
    assert len(set(left)) == len(left)
    done = visited(sweep, timing_line, every)
    heads = [replace(profile_line.head, shape=g.shape, contender=c) for g in every for c in g.contenders]
    assert estimate.seconds_left(done.with_lines([replace(profile_line, head=head) for head in heads])) == 0


@pytest.mark.parametrize(
    ("n_timed", "asks", "is_counted"), [(0, True, True), (-1, True, True), (None, True, True), (None, False, False)]
)
def test_ceilings_take_their_time_until_they_are_known_or_no_longer_asked_for(
    sweep, timing_line, monkeypatch, n_timed, asks, is_counted
):
    """Those that were refused are asked for again at the end, and waited for as long as the machine is disturbed."""
    monkeypatch.setattr(module, "call_seconds", lambda *_, **__: 1e-4)
    begun = visited(sweep, timing_line, sweep.plan.groups[:n_timed])
    unknown_s, known_s = (
        Estimate(lambda found=found: found, asks_for_ceilings=asks).seconds_left(begun) for found in (None, CEILINGS)
    )
    assert unknown_s - known_s == pytest.approx(CEILINGS_S if is_counted else 0.0)
    assert CEILINGS_S > 3.0, "the patience with a disturbed machine alone is three"


@pytest.mark.timeout(600)
def test_ceilings_that_were_refused_are_left_until_the_sweep_has_asked_for_them_at_its_end(
    elsewhere, tmp_path, monkeypatch
):
    monkeypatch.setattr(SweepCeilings, "ensure", lambda self, *_, **__: setattr(self, "is_ensured", True))
    monkeypatch.setattr(module, "CEILINGS_S", 1e9)
    axes = replace(QUICK, batches=(8,), hiddens=(32,), providers=("eager",), budget_s=0.02, visits=1)
    steps = []
    with Progress(None, steps.append) as progress:
        measure(replace(elsewhere, data_dir=tmp_path / "new"), axes=axes, operation="linear", progress=progress)
    left = {phase: [each.seconds_left > 1e8 for each in steps if each.phase is phase] for phase in Phase}
    assert left[Phase.TIMING] == [True, True]
    assert left[Phase.PROFILING] == [False, False]


def test_a_run_without_ceilings_announces_no_time_for_them(sweep, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CEILINGS_S", 1e9)
    console = Console(file=io.StringIO(), width=200)
    announce(console, sweep, Settings(data_dir=tmp_path, measures_ceilings=False))
    assert "days" not in console.file.getvalue()
    announce(console, sweep, Settings(data_dir=tmp_path))
    assert "days" in console.file.getvalue()


def test_traces_that_no_point_can_give_are_told_before_it_is_measured(sweep, tmp_path):
    batches = sorted({shape.batch for shape, _ in sweep.points()})

    def told(*traced):
        console = Console(file=io.StringIO(), width=200)
        announce(console, sweep, Settings(data_dir=tmp_path, traced_batches=tuple(map(str, traced))))
        return [line for line in console.file.getvalue().splitlines() if line.startswith("traces")]

    assert told() == told(batches[0]) == []
    (line,) = told(batches[0], 31, 77)
    assert "no point of 31, 77 rows" in line
    assert line.endswith(f"there are points of {', '.join(map(str, batches))}")


def test_ceilings_count_as_soon_as_they_are_known(sweep):
    slow = replace(CEILINGS, matmul_flop_per_s={"float32": 1e6}, vector_instruction_per_s=1e6)
    known = []
    estimate = Estimate(lambda: known[0] if known else None)
    before = estimate.seconds_left(sweep)
    known.append(slow)
    assert estimate.seconds_left(sweep) > 100 * before


@pytest.mark.parametrize(("times_first_calls", "minutes"), [(False, (1, 5)), (True, (4, 12))])
def test_a_run_announces_minutes_for_the_quick_axes_and_more_with_first_calls(
    sweep, tmp_path, times_first_calls, minutes
):
    console = Console(file=io.StringIO(), width=200)
    announce(console, sweep, Settings(data_dir=tmp_path, times_first_calls=times_first_calls))
    said = console.file.getvalue()
    number, unit = re.search(r"about (\d+) (s|min)", said).groups()
    assert minutes[0] <= int(number) / (60 if unit == "s" else 1) <= minutes[1]


def test_the_quick_axes_take_minutes_and_the_full_axes_hours():
    assert 30 < whole_s(QUICK) < 300
    assert 2 * 3600 < whole_s(FULL) < 24 * 3600
    assert 2 * 3600 < whole_s(FULL, ceilings=None) < 24 * 3600


def test_a_machine_that_is_half_as_fast_takes_longer_where_calls_are_long_and_the_same_where_they_are_short(shape):
    slow = replace(CEILINGS, matmul_flop_per_s={"float32": 5e10}, vector_instruction_per_s=2.5e10)
    large = replace(shape, batch=4096, dim=1024, hidden=4096)
    for at, ratio in ((large, 2.0), (shape, 1.0)):
        calls = [call_seconds(at, ceilings, device=DeviceKind.CPU, threads=2) for ceilings in (slow, CEILINGS)]
        assert calls[0] / calls[1] == pytest.approx(ratio, rel=0.05)
    assert whole_s(FULL, slow) > 1.3 * whole_s(FULL)
    assert whole_s(QUICK, slow) < 1.1 * whole_s(QUICK)


def test_without_ceilings_more_threads_are_faster_and_a_gpu_is_one(shape):
    large = replace(shape, batch=4096, dim=1024, hidden=4096)
    one, four = (call_seconds(large, None, device=DeviceKind.CPU, threads=threads) for threads in (1, 4))
    assert one / four == pytest.approx(4, rel=0.01)
    assert call_seconds(large, None, device=DeviceKind.CUDA, threads=4) < four / 100


def sampled_s(policy, *, n, call_s, flush_s, n_calls):
    """The seconds of a clock that only calls and flushes turn, while `n` contenders are sampled as a worker does."""
    clock = FakeClock()
    calls = {name: Op(clock, name, call_s) for name in ("eager", "a", "b")[:n]}
    sample_group(
        calls,
        baseline="eager",
        clock=ColdClock(clock, Op(clock, "flush", flush_s)) if n_calls else clock,
        policy=policy,
        watch=CalmWatch(),
        n_calls=dict.fromkeys(calls, n_calls) if n_calls else None,
    )
    return clock.time_s


@pytest.mark.parametrize(("device", "axes"), [("cpu", QUICK), ("cpu", FULL), ("cuda", QUICK)])
@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize(
    ("cache", "call_s", "flush_s"),
    [
        *(("warm", call_s, 0.0) for call_s in (20e-6, 300e-6, 1e-3, 5e-3, 0.5)),
        *(("cold", call_s, flush_s) for call_s in (20e-6, 2e-3, 0.1) for flush_s in (1e-4, 30e-3, 0.4)),
    ],
)
def test_a_visit_is_expected_to_take_what_its_samples_take_if_they_use_up_its_budget(
    device, axes, n, cache, call_s, flush_s
):
    policy, n_calls = policy_of(axes, DeviceKind(device)), fixed_calls(CachePolicy(cache))
    expected_s = n * sampling_seconds(policy, call_s=call_s, flush_s=flush_s, n_calls=n_calls)
    at_most_s, steady_s = (
        sampled_s(each, n=n, call_s=call_s, flush_s=flush_s, n_calls=n_calls)
        for each in (replace(policy, half_width=-1.0), policy)
    )
    assert expected_s == pytest.approx(at_most_s, rel=0.07)
    assert steady_s <= at_most_s


def test_eager_has_one_share_of_a_visit_as_any_rival_has(shape):
    def cost(*names):
        contenders = [Contender(provider=name) for name in names]
        return visit_seconds(shape, contenders, policy_of(QUICK), call_s=1e-4, flush_s=0.0, is_first=False)

    assert cost("eager", "fused") == cost("fused", "fused-pure")


def test_flushing_moves_five_caches_twice_before_a_cold_call_and_nothing_before_a_warm_one(shape, sweep):
    cold = replace(shape, cache=CachePolicy.COLD)
    on_cpu = {"device": DeviceKind.CPU, "threads": 1}
    assert flush_seconds(shape, CEILINGS, **on_cpu, cache_bytes=2**25) == 0.0
    assert flush_seconds(cold, CEILINGS, **on_cpu, cache_bytes=2**25) == pytest.approx(
        FLUSHED_CACHES * 2 * 2**25 / CEILINGS.copy_bytes_per_s
    )
    assert flush_seconds(cold, None, **on_cpu) > flush_seconds(cold, None, device=DeviceKind.CPU, threads=4) > 0
    assert flush_seconds(cold, None, device=DeviceKind.CUDA, threads=1) < 1e-3
    groups_cold = tuple(replace(g, shape=replace(g.shape, cache=CachePolicy.COLD)) for g in sweep.plan.groups)
    slow = replace(CEILINGS, copy_bytes_per_s=1e8)
    left = [
        Estimate(lambda: slow).seconds_left(replace(sweep, plan=replace(sweep.plan, groups=groups)))
        for groups in (sweep.plan.groups, groups_cold)
    ]
    assert left[1] > 3 * left[0]


def test_compilations_count_the_first_above_all_and_twice_with_a_backward(shape):
    def costs(name, *, is_first, pass_=Pass.FORWARD):
        at = replace(shape, pass_=pass_)
        contenders = [Contender(provider=name)]
        return visit_seconds(at, contenders, policy_of(QUICK), call_s=1e-4, flush_s=0.0, is_first=is_first)

    plain = costs("fused", is_first=True)
    assert costs("fused", is_first=False) == plain
    compiled = costs("compiled", is_first=True) - plain
    assert compiled > 3 * (costs("compiled", is_first=False) - plain) > 0
    assert costs("compiled", is_first=True, pass_=Pass.FORWARD_BACKWARD) - plain == pytest.approx(2 * compiled)
    assert costs("compiled-max-autotune", is_first=True) - plain > compiled


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (99, "99 s"), (119, "2 min"), (9000, "2.5 h"), (5e5, "6 days"), (2.8e10, "324,074 days")],
)
def test_a_length_of_time_is_told_in_the_unit_that_people_would_take(seconds, text):
    assert text_from_seconds(seconds) == text
