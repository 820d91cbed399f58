"""Times that no arithmetic explains, and calls without an operator, are wrong; whoever may be honest is not."""

from dataclasses import replace

import pytest

from benchmarks.ruler.plan import work
from benchmarks.ruler.plan.points import Contender, DeviceKind
from benchmarks.ruler.plan.roofline import Ceilings
from benchmarks.ruler.record.outcome import State
from benchmarks.ruler.sweep import journal_lines
from benchmarks.ruler.sweep.visits import counted_samples

PEAK = 100e9
CEILINGS = Ceilings(
    device="cpu",
    measured_at="2026-01-02T03:04:05+00:00",
    matmul_flop_per_s={"float32": PEAK},
    copy_bytes_per_s=1e10,
    vector_instruction_per_s=PEAK / 2,
    dispatch_s=1e-6,
)


@pytest.fixture
def line(timing_line):
    """The timing line of a call that takes so many times as long as its products alone, and eager so many."""

    def made(*, times, eager_times=3.0, provider="fused", ceilings=CEILINGS):
        head = replace(timing_line.head, contender=Contender(provider=provider))
        latency_s = times * work.flop(head.shape) / PEAK
        speedup = None if eager_times is None else eager_times / times
        outcome = replace(timing_line.outcome, latency_s=latency_s, speedup_vs_eager=speedup)
        found = journal_lines.timing_line(head, outcome, "abcdef01", ceilings, DeviceKind.CPU)
        assert found.outcome == outcome
        return journal_lines.judged_line(found, ceilings, DeviceKind.CPU)

    return made


def test_a_call_faster_than_its_products_can_be_is_wrong(line):
    found = line(times=0.4).outcome
    assert found.state is State.WRONG
    assert "implausible" in found.reason
    assert "100 GFLOP/s" in found.reason
    assert found.latency_s is None
    assert found.samples_s, "of what is wrong, what was measured is kept"
    assert counted_samples(found) == ()


@pytest.mark.parametrize("times", [0.6, 1.0, 5.0])
def test_a_ceiling_somewhat_too_low_makes_nobody_wrong(line, times):
    assert line(times=times).outcome.state is State.OK


def test_where_eager_beats_the_ceiling_it_is_none(line):
    assert line(times=0.3, eager_times=0.5).outcome.state is State.OK
    assert line(times=0.3, provider="eager").outcome.state is State.OK


def test_a_ceiling_of_a_slow_machine_accuses_nobody_who_may_have_met_it_fast(line):
    slow = replace(CEILINGS, conditions={"slow_rounds": 12, "machine_speed": 0.5})
    assert line(times=0.4, ceilings=slow).outcome.state is State.OK
    found = line(times=0.2, ceilings=slow).outcome
    assert found.state is State.WRONG
    calm = replace(CEILINGS, conditions={"slow_rounds": 0, "machine_speed": 0.5})
    assert line(times=0.4, ceilings=calm).outcome.state is State.WRONG


def test_slow_memory_excuses_no_product(line):
    of_memory = {"slow_rounds": 12, "machine_speed": 0.25, "speed_of_products": 0.95}
    slow = replace(CEILINGS, conditions=of_memory)
    found = line(times=0.3, ceilings=slow).outcome
    assert found.state is State.WRONG
    assert "measured at 95 % of its best speed" in found.reason
    older = replace(CEILINGS, conditions={"slow_rounds": 12, "machine_speed": 0.25})
    assert line(times=0.3, ceilings=older).outcome.state is State.OK


def test_what_a_slow_machine_might_do_is_not_told_as_measured(line):
    slow = replace(CEILINGS, conditions={"slow_rounds": 12, "machine_speed": 0.5})
    assert "at this machine's ceiling of 100 GFLOP/s, measured at 50 % of its best speed" in (
        line(times=0.2, ceilings=slow).outcome.reason
    )


def test_a_slow_host_excuses_nobody_on_a_gpu_whose_products_it_does_not_slow(line):
    gpu = replace(CEILINGS, launch_s=2e-6, conditions={"slow_rounds": 12, "machine_speed": 0.5})
    assert line(times=0.4, ceilings=gpu).outcome.state is State.WRONG


def test_without_a_ceiling_nothing_is_implausible(line):
    assert line(times=0.01, ceilings=None).outcome.state is State.OK


@pytest.mark.parametrize(("operators", "kernels", "state"), [(0, None, "wrong"), (0, 2, "ok"), (1, None, "ok")])
def test_a_profile_without_an_operator_or_a_kernel_makes_its_point_wrong(
    timing_line, profile_line, operators, kernels, state
):
    outcome = replace(profile_line.outcome, operator_count=operators, kernel_launches=kernels)
    profile, *wrong = journal_lines.profile_lines(profile_line.head, outcome, timing_line, None, DeviceKind.CPU)
    assert profile.outcome.state == state
    assert len(wrong) == (state == "wrong")
    for line in wrong:
        assert line.outcome.state is State.WRONG
        assert "no operator" in line.outcome.reason
        assert line.outcome.latency_s is None
        assert (line.outcome.visits, line.outcome.samples_s) == (timing_line.outcome.visits, (1.2e-5, 1.25e-5, 1.3e-5))
