"""A sweep in its real worker: what providers do to it, and what it records."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.ruler.plan.axes import QUICK
from benchmarks.ruler.plan.points import Contender, DeviceKind
from benchmarks.ruler.plan.settings import environment_from_settings
from benchmarks.ruler.record import journal
from benchmarks.ruler.record.outcome import State
from benchmarks.ruler.sweep import sweep_plan
from benchmarks.ruler.sweep.measure import measure

TINY = replace(QUICK, name="tiny", batches=(8,), hiddens=(32,), providers=("eager",), budget_s=0.02, visits=1)


@pytest.fixture(scope="module")
def recorded(settings):
    names = ("segfaults", "exits", "hangs", "exhausts-memory", "is-wrong", "returns-nan", "has-another-shape")
    names = ("eager", *names, "raises", "fails-to-compile", "is-absent", "right")
    return measure(settings, axes=replace(TINY, providers=names), operation="mlp")


def outcome_of(recorded, provider):
    (found,) = [line.outcome for (_, c), line in recorded.timings.items() if c.provider == provider]
    return found


@pytest.mark.parametrize(
    ("provider", "state", "reason"),
    [
        ("segfaults", State.CRASHED, "killed by SIGSEGV"),
        ("exits", State.CRASHED, "exited with status 7"),
        ("hangs", State.TIMED_OUT, "no sign for 20 s"),
        ("exhausts-memory", State.OUT_OF_MEMORY, "can't allocate memory"),
        ("is-wrong", State.WRONG, "off by 0.1 of the reference's norm; rounding explains at most"),
        ("returns-nan", State.WRONG, "holds NaN"),
        ("has-another-shape", State.WRONG, "the output has shape (7, 8); it should be (8, 8)"),
        ("raises", State.CRASHED, "ValueError: this kernel cannot do that"),
        ("fails-to-compile", State.CRASHED, "Unsupported"),
        ("is-absent", State.UNAVAILABLE, "needs a machine that is not this one"),
    ],
)
def test_a_provider_that_goes_wrong_has_its_own_state_and_reason_and_no_time(recorded, provider, state, reason):
    outcome = outcome_of(recorded, provider)
    assert outcome.state is state
    assert reason in outcome.reason
    assert outcome.latency_s is None
    assert outcome.samples_s == ()


@pytest.mark.parametrize("provider", ["eager", "right"])
def test_the_rest_of_its_group_is_measured_all_the_same(recorded, provider):
    outcome = outcome_of(recorded, provider)
    assert outcome.state is State.OK
    assert 0 < outcome.latency_ci_low_s <= outcome.latency_s <= outcome.latency_ci_high_s < 0.1
    assert outcome.calls_per_sample * min(outcome.samples_s) > 100e-6
    assert outcome.error_rel < 1e-5


def test_the_same_function_under_two_names_is_about_as_fast(recorded):
    right = outcome_of(recorded, "right")
    assert right.speedup_ci_low < right.speedup_vs_eager < right.speedup_ci_high
    # What others disturbed says nothing of the ruler.
    assert right.disturbed or 0.5 < right.speedup_vs_eager < 2


def test_every_point_that_is_ok_and_no_other_has_a_profile(recorded):
    profiled = {contender.provider for (_, contender) in recorded.profiles}
    assert profiled == {"eager", "right"}
    for line in recorded.profiles.values():
        assert line.outcome.state is State.OK
        assert line.outcome.operator_count == 3
        assert line.outcome.operators
        assert line.bound is not None


def test_every_line_says_the_allocator_the_machines_speed_and_what_a_call_had_mapped(recorded):
    for line in recorded.timings.values():
        assert line.head.conditions["allocator"] == "retaining"
        assert line.head.conditions["probe_core_s"] > 0
        if line.outcome.state is State.OK:
            assert line.outcome.minor_faults_per_call == 0
        else:
            assert line.outcome.minor_faults_per_call is None
    for profile in recorded.profiles.values():
        assert profile.head.conditions["allocator"] == "retaining"
        assert "machine_speed" not in profile.head.conditions


def test_a_point_whose_profile_holds_no_operator_is_wrong_though_it_was_timed(elsewhere):
    axes = replace(TINY, providers=("eager", "computes-past-torch"))
    found = measure(elsewhere, axes=axes, operation="mlp")
    assert outcome_of(found, "eager").state is State.OK
    hidden = outcome_of(found, "computes-past-torch")
    assert hidden.state is State.WRONG
    assert "no operator that computes" in hidden.reason
    assert hidden.latency_s is None


def test_all_timing_lines_come_before_the_profiles(recorded, settings):
    (path,) = (settings.data_dir / "journal" / "testbox").glob("*.jsonl")
    kinds = [json.loads(line)["kind"] for line in path.read_text().splitlines()]
    # A point's line is written again where its visit turns out to have been slow, or its floor another.
    n_timings = kinds.count("timing")
    assert len(recorded.timings) <= n_timings
    assert kinds == ["timing"] * n_timings + ["profile"] * len(recorded.profiles)


def test_a_finished_sweep_measures_nothing_again(recorded, settings, capsys):
    (path,) = (settings.data_dir / "journal" / "testbox").glob("*.jsonl")
    before = path.read_bytes()
    names = tuple(contender.provider for (_, contender) in recorded.timings)
    again = measure(settings, axes=replace(TINY, providers=names), operation="mlp")
    assert path.read_bytes() == before
    assert again == recorded
    (run,) = {line.head.run for line in recorded.timings.values()}
    assert f"everything is measured already, in {run.label()}; fusebench run --again" in capsys.readouterr().out


def test_a_run_id_of_its_own_starts_anew(recorded, settings):
    again = measure(replace(settings, run_id="another"), axes=replace(TINY, providers=("eager",)), operation="mlp")
    ((_, line),) = again.timings.items()
    assert line.head.run.run_id == "another"
    (path,) = (settings.data_dir / "journal" / "testbox").glob("*.jsonl")
    assert len({line.head.run.run_id for line in journal.JournalReader(path).read()}) == 2


def test_what_another_version_of_the_ruler_recorded_is_neither_resumed_nor_counted(recorded, settings, monkeypatch):
    known_runs = {line.head.run.run_id for line in recorded.timings.values()}
    monkeypatch.setattr(sweep_plan, "RULER_VERSION", "the next")
    planned, _ = sweep_plan.plan_sweep(settings, TINY, operations=["mlp"], device=DeviceKind.CPU)
    assert planned.plan.run.run_id not in known_runs
    assert planned.plan.run.ruler_version == "the next"
    assert len(planned.untimed()) == len(planned.plan.groups) == 1


def test_a_sweep_goes_on_where_it_was_interrupted(elsewhere, tmp_path):
    first = replace(TINY, batches=(4,))
    both = replace(TINY, batches=(4, 8))
    begun = measure(elsewhere, axes=first, operation="linear")
    (path,) = (tmp_path / "journal" / "testbox").glob("*.jsonl")
    before = path.read_bytes()
    done = measure(elsewhere, axes=both, operation="linear")
    assert path.read_bytes().startswith(before)
    assert {shape.batch for shape, _ in done.timings} == {4, 8}
    # A machine that is faster later shows that it was slow at first: the samples stay, what is told of them may not.
    samples = {key: line.outcome.samples_s for key, line in begun.timings.items()}
    assert {key: done.timings[key].outcome.samples_s for key in samples} == samples
    assert len({line.head.run.run_id for line in journal.JournalReader(path).read()}) == 1


def test_a_group_of_which_a_part_was_recorded_is_measured_whole(elsewhere):
    measure(elsewhere, axes=TINY, operation="linear")
    done = measure(elsewhere, axes=replace(TINY, providers=("eager", "right")), operation="linear")
    groups = {line.group for line in done.timings.values()}
    assert len(done.timings) == 2
    assert len(groups) == 1
    right = done.timings[next(key for key in done.timings if key[1] == Contender(provider="right"))]
    assert right.outcome.speedup_vs_eager is not None


HOLD = """
import sys
from pathlib import Path
from benchmarks.ruler.sweep.lock import machine_lock
with machine_lock(Path(sys.argv[1]), say=lambda text: print(text, flush=True), waits=sys.argv[2] == "wait"):
    print("mine", flush=True)
    sys.stdin.read()
"""


def test_a_second_sweep_waits_for_the_first_and_says_so_or_is_told_to_fail(tmp_path):
    def sweep(*, policy="wait"):
        return subprocess.Popen(
            [sys.executable, "-c", HOLD, str(tmp_path / "lock"), policy],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        )

    first = sweep()
    assert first.stdout.readline().strip() == "mine"
    told_to_fail = sweep(policy="fail")
    _, error = told_to_fail.communicate()
    assert told_to_fail.returncode != 0
    assert f"another sweep measures on this machine (process {first.pid}" in error
    waited = sweep()
    assert waited.stdout.readline().startswith("another sweep measures on this machine")
    first.communicate()
    assert waited.communicate()[0].splitlines()[-1] == "mine"


@pytest.mark.parametrize("victim", ["sweep", "worker"])
def test_nothing_of_ours_outlives_a_kill(elsewhere, victim):
    script = (
        "from dataclasses import replace\n"
        "from benchmarks.ruler.plan.axes import QUICK\n"
        "from benchmarks.ruler.plan.settings import settings_from_environment\n"
        "from benchmarks.ruler.sweep.measure import measure\n"
        "axes = replace(QUICK, batches=(8,), hiddens=(32,), providers=('eager', 'hangs'), budget_s=0.02)\n"
        "measure(settings_from_environment(), axes=axes, operation='mlp')"
    )
    environ = environment_from_settings(replace(elsewhere, point_limit_s=300.0))
    sweep = subprocess.Popen(
        [sys.executable, "-c", script], cwd=Path(__file__).parents[3], env=environ, stdout=subprocess.PIPE
    )
    workers = soon(lambda: processes_with("benchmarks.ruler.worker.main", f"--parent {sweep.pid}"))
    time.sleep(5)
    os.kill(sweep.pid if victim == "sweep" else workers[0], signal.SIGKILL)
    if victim == "sweep":
        sweep.wait()
        soon(lambda: not processes_with(f"--parent {sweep.pid}"))
    soon(lambda: not processes_with("watchdog.py", str(workers[0])))
    if victim == "worker":
        sweep.kill()
        sweep.wait()
    sweep.stdout.close()


def soon(found):
    """Return what `found` returns, once that is true; on a machine that is slow and busy it may be long."""
    deadline = time.monotonic() + 240
    while not (answer := found()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return answer


def processes_with(*words):
    """Pids of living processes whose command line holds all `words`."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if all(word in line for word in words):
                found.append(int(entry.name))
    return found


EXPECTED = ("expected_operator_count", "expected_bytes", "expected_time_s")


def test_what_a_provider_runs_besides_what_was_expected_is_told_in_words(elsewhere, tmp_path, capsys):
    """An operator, a copy and a compilation at every call, planted in what is declared to run as eager does."""
    providers = ("eager", "right", "adds-zero", "copies", "recompiles")
    patient = replace(elsewhere, point_limit_s=120.0)
    found = measure(patient, axes=replace(TINY, providers=providers), operation="mlp")
    said = {contender.provider: line.outcome for (_, contender), line in found.profiles.items()}
    assert set(said) == set(providers)
    assert said["eager"].unexpected is None
    assert said["right"].unexpected is None
    assert said["adds-zero"].unexpected == "expected 3 operators, saw 4: extra aten::add"
    assert said["copies"].unexpected == "expected 3 operators, saw 4: extra aten::clone"
    assert "expected no compilation once it is warm, saw 1 a call" in said["recompiles"].unexpected
    assert [said[name].compilations for name in providers] == [0, 0, 0, 0, 1]
    known = {tuple(getattr(said[name], key) for key in EXPECTED) for name in providers}
    assert len(known) == 1
    assert None not in known.pop()
    assert "copies unexpected: expected 3 operators" in capsys.readouterr().out
    (path,) = (tmp_path / "journal" / "testbox").glob("*.jsonl")
    recorded = [json.loads(line) for line in path.read_text().splitlines()]
    names = [line["point"]["provider"] for line in recorded if line.get("unexpected") is not None]
    assert names == ["adds-zero", "copies", "recompiles"]


def test_traces_are_kept_of_the_batches_asked_for_and_named_in_the_profile(elsewhere, tmp_path):
    settings = replace(elsewhere, traced_batches=("8",))
    done = measure(settings, axes=replace(TINY, batches=(4, 8)), operation="mlp")
    traces = {shape.batch: line.outcome.trace for (shape, _), line in done.profiles.items()}
    assert traces[4] is None
    (path,) = (tmp_path / "traces").iterdir()
    assert path.name == traces[8]
    with gzip.open(path, "rt") as file:
        names = {event.get("name") for event in json.load(file)["traceEvents"]}
    assert {"aten::addmm", "aten::gelu"} <= names
