"""Progress on a terminal and in a pipe."""

import io
import os
import pty
import re
import signal
import sys
from dataclasses import replace

import pytest
from rich.console import Console

from benchmarks.ruler.plan.axes import QUICK, groups
from benchmarks.ruler.plan.points import DeviceKind, Operation
from benchmarks.ruler.plan.settings import ROOT
from benchmarks.ruler.record.outcome import State, TimingOutcome, Visit
from benchmarks.ruler.sweep.display import Display
from benchmarks.ruler.sweep.progress import (
    Phase,
    Step,
    finding_from_line,
    step_from_sweep,
    text_from_latency,
    text_from_step,
)
from benchmarks.ruler.sweep.sweep_plan import Plan, empty_sweep

STEP = Step(
    phase=Phase.TIMING,
    operation="gated_mlp",
    n_done=9,
    n_groups=24,
    share=0.2,
    seconds_left=125.0,
    detail="gated_mlp silu bfloat16 forward+backward, batch 16384, dim 4096, hidden 14336",
    is_group_done=True,
    visit=2,
    n_visits=3,
    findings=("compiled-max-autotune-no-cudagraphs 1234567.8 µs", "fused crashed: " + "word " * 40, "eager 1.0 µs"),
)


@pytest.fixture
def shown():
    """What is displayed of the steps on a console of 80 columns."""

    def show(*steps, is_terminal):
        out = io.StringIO()
        display = Display(Console(file=out, width=80, force_terminal=is_terminal, highlight=False))
        with display._bar:
            for step in steps:
                display.show(step)
        return out.getvalue()

    return show


def test_a_pipe_gets_plain_lines_of_at_most_80_columns_that_say_what_is_left(shown):
    said = shown(STEP, replace(STEP, phase=Phase.PROFILING, visit=0), is_terminal=False)
    assert "timing gated_mlp: visit 2 of 3, 9 of 24 groups, about 2 min left\n" in said
    assert "profiling gated_mlp: 9 of 24 groups" in said
    assert "\x1b" not in said
    assert max(map(len, said.splitlines())) <= 80


@pytest.mark.parametrize("indent", range(12))
def test_a_number_and_its_unit_are_in_one_line(shown, indent):
    findings = ("x" * indent, *(f"eager {number} µs" for number in range(1000, 1012)), "long 12.5 ms (disturbed)")
    said = shown(replace(STEP, findings=findings), is_terminal=False)
    assert len(re.findall(r"\d (?:µs|ms)\b", said)) == 13
    assert "\N{NO-BREAK SPACE}" not in said
    assert max(map(len, said.splitlines())) <= 80


def test_a_terminal_gets_one_line_of_at_most_80_columns_that_says_what_is_left(shown):
    said = shown(
        replace(STEP, phase=Phase.PROFILING, visit=0, n_done=199, n_groups=200, seconds_left=5900.0), is_terminal=True
    )
    lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", said).replace("\r", "\n").splitlines()
    assert any("profiling gated_mlp" in line and "199 of 200 groups, about 98 min left" in line for line in lines)
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("seconds", "words"), [(8.79e-5, "87.9 µs"), (0.0501, "50.1 ms"), (0.475, "475 ms"), (5.88, "5.88 s")]
)
def test_a_latency_is_told_in_the_unit_of_its_size(seconds, words):
    assert text_from_latency(seconds) == words


def test_waiting_for_another_sweep_is_said(shown):
    waiting = Step(phase=Phase.WAITING, operation="mlp", n_done=0, n_groups=0, share=0.0, detail="another sweep")
    assert "another sweep" in shown(waiting, is_terminal=False)
    assert "another sweep" in shown(waiting, is_terminal=True)


@pytest.fixture
def sweep(run, tmp_path):
    chosen = tuple(group for name in Operation for group in groups(QUICK, operation=name, device=DeviceKind.CPU))
    return empty_sweep(Plan(run=run, path=tmp_path / "j", device=DeviceKind.CPU, threads=1, axes=QUICK, groups=chosen))


VISIT = Visit(measured_at="2026-01-02", n_samples=1, median_s=1.0)


def lines_of(group, timing_line, *, state=State.OK, n_visits=3):
    return [
        replace(
            timing_line,
            head=replace(timing_line.head, shape=group.shape, contender=contender),
            outcome=TimingOutcome(state=state, visits=(VISIT,) * n_visits if state is State.OK else ()),
        )
        for contender in group.contenders
    ]


def test_groups_are_counted_and_not_points_timed_and_profiled(sweep, timing_line, profile_line):
    first, second, *_ = sweep.plan.groups
    timed = sweep.with_lines([*lines_of(first, timing_line), *lines_of(second, timing_line, state=State.CRASHED)])
    for visit in (1, 2, 3):
        step = step_from_sweep(timed, Phase.TIMING, "linear", visit=visit)
        assert (step.n_done, step.n_groups) == (2, 12)
    once = sweep.with_lines(lines_of(first, timing_line, n_visits=1))
    assert [step_from_sweep(once, Phase.TIMING, "linear", visit=visit).n_done for visit in (1, 2)] == [1, 0]
    assert text_from_step(step_from_sweep(once, Phase.TIMING, "linear", visit=1)) == (
        "timing linear: visit 1 of 3, 1 of 12 groups"
    )
    # What crashed has no profile to wait for.
    profiling = step_from_sweep(timed, Phase.PROFILING, "linear")
    assert text_from_step(profiling) == "profiling linear: 1 of 12 groups"
    done = timed.with_lines(
        [
            replace(profile_line, head=replace(profile_line.head, shape=first.shape, contender=contender))
            for contender in first.contenders
        ]
    )
    assert step_from_sweep(done, Phase.PROFILING, "linear").n_done == 2


@pytest.mark.parametrize("is_terminal", [True, False])
def test_that_ceilings_were_refused_is_said(shown, is_terminal):
    refused = replace(STEP, phase=Phase.CEILINGS, detail="refused: a neighbour", findings=(), is_group_done=False)
    said = shown(refused, is_terminal=is_terminal)
    assert "refused: a neighbour" in said
    assert is_terminal or said == "ceilings: refused: a neighbour\n", "of the machine, and of no operation"


@pytest.mark.parametrize(
    ("latency_s", "disturbed", "told"),
    [(24.68e-6, None, "24.7 µs"), (7.9714e-3, "a neighbour", "7.97 ms (disturbed)"), (0.5, None, "500 ms")],
)
def test_a_finding_has_its_time_in_a_unit_that_can_be_read_and_says_if_it_was_disturbed(
    timing_line, latency_s, disturbed, told
):
    line = replace(timing_line, outcome=replace(timing_line.outcome, latency_s=latency_s, disturbed=disturbed))
    assert finding_from_line(line) == f"{timing_line.head.contender} {told}"


@pytest.mark.parametrize("is_terminal", [False, True])
def test_that_the_time_is_up_is_said_once_and_not_by_each_of_asvs_suites(shown, is_terminal):
    stopped = replace(STEP, phase=Phase.STOPPED, detail="the time is up", findings=())
    waiting = replace(STEP, phase=Phase.WAITING, detail="another sweep measures", findings=())
    said = shown(waiting, waiting, stopped, stopped, stopped, is_terminal=is_terminal)
    assert said.count("the time is up") == 1
    assert said.count("another sweep measures") == 2


# A command that prints, on its way out, too, to both streams, as a sweep and its display do.
COMMAND = """
import sys, time
from benchmarks.ruler.sweep.interruption import ended_by_exit_code, interruptible

with ended_by_exit_code(name="command"), interruptible():
    try:
        while True:
            print("at work", flush=True)
            time.sleep(0.1)
    finally:
        print("its end, which nobody reads", flush=True)
        print("its end, which nobody reads", file=sys.stderr, flush=True)
"""


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("is_ignored", "signum"), [(False, signal.SIGHUP), (True, signal.SIGPIPE)])
def test_a_command_whose_terminal_is_closed_ends_as_by_a_signal_and_not_by_a_fault_of_ours(is_ignored, signum):
    """Exit code 1 would mean a regression, and 70 a fault of ours."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        signal.signal(signal.SIGHUP, signal.SIG_IGN if is_ignored else signal.SIG_DFL)
        os.execv(sys.executable, [sys.executable, "-c", COMMAND])  # noqa: S606 - only it has that terminal
    assert b"at work" in os.read(terminal, 1024)
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 128 + signum
