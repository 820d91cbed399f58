"""What `fusebench run` says at its end, and its exit code."""

import io
import signal
from dataclasses import replace
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from rich.console import Console

from benchmarks.ruler.exit_codes import ExitCode
from benchmarks.ruler.plan.axes import QUICK
from benchmarks.ruler.plan.points import Contender, DeviceKind, Group
from benchmarks.ruler.plan.settings import Settings
from benchmarks.ruler.record.outcome import State, TimingOutcome
from benchmarks.ruler.sweep import run as sweep_run
from benchmarks.ruler.sweep import summary
from benchmarks.ruler.sweep.asv_process import AsvEnd
from benchmarks.ruler.sweep.interruption import Interrupted
from benchmarks.ruler.sweep.summary import sum_up
from benchmarks.ruler.sweep.sweep_plan import Plan, Recorded, Sweep

PRINTED = "all well\nError: the disk is full\n"


@pytest.fixture
def summed_up(tmp_path, run, shape, timing_line):
    """The exit code and the words for one point of that outcome, or for none, and for asv's exit status."""

    def say(outcome=timing_line.outcome, *, status=0, profiles=None, until=None, n_visits=1, printed=PRINTED):
        log = tmp_path / "asv-run.log"
        log.write_text(printed)
        contender = Contender(provider="fused")
        timings = {} if outcome is None else {(shape, contender): replace(timing_line, outcome=outcome)}
        plan = Plan(
            run=run,
            path=tmp_path / "j.jsonl",
            device=DeviceKind.CPU,
            threads=1,
            axes=replace(QUICK, visits=n_visits),
            groups=(Group(shape=shape, contenders=(contender,)),),
        )
        recorded = Recorded(timings=timings, profiles={(shape, contender): profiles} if profiles else {})
        out = io.StringIO()
        sweep, end = Sweep(plan=plan, recorded=recorded), AsvEnd(status=status, log=log)
        code = sum_up(Console(file=out, width=200), sweep, end, Settings(until=until))
        return code, out.getvalue()

    return say


def test_a_measured_point_needs_no_words(summed_up):
    assert summed_up() == (ExitCode.FINE, "")


def test_a_point_that_lacks_visits_is_said_to(summed_up):
    code, said = summed_up(n_visits=3)
    assert code == ExitCode.FAILED
    assert "1 point was not measured, or by fewer than 3 visits" in said


def test_what_failed_is_named_with_its_reason_whatever_brackets_it_holds(summed_up):
    code, said = summed_up(TimingOutcome(state=State.CRASHED, reason="shapes [8, 16] and [/x] differ"))
    assert code == ExitCode.FAILED
    assert "crashed: fused, mlp gelu float32" in said
    assert "shapes [8, 16] and [/x] differ" in said


def test_what_is_unavailable_is_said_and_is_no_failure(summed_up):
    code, said = summed_up(TimingOutcome(state=State.UNAVAILABLE, reason="needs sm_80"))
    assert (code, said.strip()) == (ExitCode.FINE, "unavailable: fused: needs sm_80")


def test_points_that_were_not_measured_fail_with_what_asv_said(summed_up):
    code, said = summed_up(None)
    assert code == ExitCode.FAILED
    assert "1 point was not measured; asv printed" in said
    assert "Error: the disk is full" in said


@pytest.mark.parametrize(("free", "words"), [(0, "nothing: no room is left on the disk of"), (2**30, "nothing")])
def test_an_asv_that_could_not_even_print_is_told_with_its_disk(summed_up, monkeypatch, free, words):
    monkeypatch.setattr(summary, "disk_usage", lambda _: SimpleNamespace(free=free))
    _, said = summed_up(None, printed="")
    assert said.splitlines()[1].startswith(words)


def test_the_cause_is_told_and_not_what_followed_for_each_benchmark(summed_up):
    followed = [f"[{n} %] ··· mlp.Mlp.track_{n} skipped (setup_cache failed)" for n in range(20)]
    printed = ["UnknownError: git knows no commit", "[1 %] ··· Setting up mlp:14        failed", *followed]
    _, said = summed_up(None, printed="\n".join(printed))
    assert said.splitlines()[1:] == ["UnknownError: git knows no commit"]


def test_an_asv_that_failed_is_not_passed_over_because_the_journal_is_whole(summed_up):
    code, said = summed_up(status=1)
    assert code == ExitCode.FAILED
    assert "asv did not keep its record, and 1 point has no profile" in said


@pytest.mark.parametrize(("status", "name"), [(-9, "SIGKILL"), (-40, "signal 40")])
def test_an_asv_that_was_killed_is_told_to_have_been_and_by_what(summed_up, status, name):
    code, said = summed_up(None, status=status, printed="[11 %] ··· Setting up mlp:14\n")
    assert code == ExitCode.FAILED
    assert f"1 point was not measured: asv was killed by {name}, and had printed (" in said


def test_a_full_disk_is_told_beside_what_asv_printed_of_it_and_no_line_of_a_traceback_is(summed_up, monkeypatch):
    monkeypatch.setattr(summary, "disk_usage", lambda _: SimpleNamespace(free=0))
    printed = [
        "OSError: [Errno 28] No space left on device",
        "The above exception was the direct cause of the following exception:",
        "    raise JournalError(",
        "During handling of the above exception, another exception occurred:",
        "benchmarks.ruler.errors.JournalError: j.jsonl: cannot be writte",
    ]
    _, said = summed_up(None, printed="\n".join(printed))
    _, *told = said.splitlines()
    assert told[:2] == [printed[0], printed[-1]]
    assert told[2].startswith("no room is left on the disk of ")


def test_an_asv_that_failed_after_the_profiles_lost_none(summed_up, profile_line):
    code, said = summed_up(status=1, profiles=profile_line)
    assert code == ExitCode.FAILED
    assert "asv did not keep its record; asv printed" in said


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"expected_operator_count": 1}, "1 of 1 ran what was expected"),
        (
            {"expected_operator_count": 1, "unexpected": "expected 1 operator, saw 2: 2 × aten::mm"},
            "0 of 1 ran what was expected, 1 otherwise (fused)",
        ),
        ({"expected_operator_count": None}, "0 of 1 ran what was expected, of 1 nothing is declared (fused)"),
    ],
)
def test_how_many_profiles_are_as_expected_is_said_and_a_difference_is_no_failure(
    summed_up, profile_line, changes, words
):
    seen = replace(profile_line.outcome, expected_kernel_launches=None, unexpected=None)
    code, said = summed_up(profiles=replace(profile_line, outcome=replace(seen, **changes)))
    assert (code, said.strip()) == (ExitCode.FINE, f"profiles {words}")


def test_points_left_when_the_time_was_up_are_no_failure_but_said(summed_up):
    code, said = summed_up(None, until=1.0)
    assert code == ExitCode.FINE
    assert "the time is up: 1 point is left for the next run" in said


@pytest.mark.parametrize(("threads", "is_told"), [(2, False), (3, True)])
def test_more_threads_than_processors_are_told_before_they_are_measured(
    monkeypatch, tmp_path, run, shape, threads, is_told
):
    monkeypatch.setattr(summary, "usable_cpus", lambda: 2)
    plan = Plan(
        run=run,
        path=tmp_path / "j.jsonl",
        device=DeviceKind.CPU,
        threads=threads,
        axes=QUICK,
        groups=(Group(shape=shape, contenders=(Contender(provider="eager"),)),),
    )
    out = io.StringIO()
    sweep = Sweep(plan=plan, recorded=Recorded(timings={}, profiles={}))
    summary.announce(Console(file=out, width=200), sweep, Settings(data_dir=tmp_path))
    assert ("threads  3 share 2 processors" in out.getvalue()) is is_told
    assert ("FUSEBENCH_THREADS=2 does not" in out.getvalue()) is is_told


@pytest.mark.parametrize(
    ("words", "variable", "said"),
    [
        ([], "", "every finished group is recorded, and the next run goes on from there"),
        (["--uncommitted"], "", "nothing was recorded, as --uncommitted or FUSEBENCH_UNCOMMITTED asks"),
        ([], "1", "nothing was recorded, as --uncommitted or FUSEBENCH_UNCOMMITTED asks"),
    ],
)
def test_who_interrupts_a_run_is_told_what_is_kept_of_it(monkeypatch, words, variable, said):
    def interrupted():
        raise Interrupted(signal.SIGINT)

    monkeypatch.setattr(sweep_run, "refuse_uncommitted_changes", lambda _: None)
    monkeypatch.setattr(sweep_run, "refuse_unusable_cache", interrupted)
    ended = CliRunner(env={"FUSEBENCH_UNCOMMITTED": variable}).invoke(sweep_run.main, words)
    assert (ended.exit_code, ended.output) == (130, f"Interrupted (SIGINT); {said}.\n")
