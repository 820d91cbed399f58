"""First calls: asked for apart, recorded beside what was measured."""

from dataclasses import replace

import pytest

from benchmarks.ruler.plan.axes import QUICK
from benchmarks.ruler.plan.points import Contender, DeviceKind, Group
from benchmarks.ruler.plan.settings import Settings, settings_from_environment
from benchmarks.ruler.record.codec import json_from_value
from benchmarks.ruler.record.journal import JournalReader
from benchmarks.ruler.record.outcome import State, TimingOutcome
from benchmarks.ruler.record.provenance import environment_name
from benchmarks.ruler.sweep.first_calls import lines_without_first_call, with_first_calls
from benchmarks.ruler.sweep.machine_file import keep_ceilings
from benchmarks.ruler.sweep.measure import measure
from benchmarks.ruler.sweep.sweep_plan import Plan, empty_sweep
from benchmarks.ruler.worker.process import Answer, Death
from benchmarks.ruler.worker.protocol import Task

SECONDS = {"eager": 0.01, "compiled": 3.5, "raises": None}


class FakeWorker:
    """Worker that answers one request of one contender, and dies of another."""

    def __init__(self):
        self.n_asked = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def ask(self, request):
        assert (request.task, self.n_asked) == (Task.FIRST_CALL, 0), "each is asked of a worker of its own"
        self.n_asked += 1
        (contender,) = request.contenders
        if contender.provider == "segfaults":
            death = Death(state=State.CRASHED, reason="killed by SIGSEGV", contender_index=0, from_outside=False)
            return Answer(messages=[], conditions={}, death=death)
        seconds = SECONDS[contender.provider]
        state = State.OK if seconds else State.CRASHED
        outcome = TimingOutcome(state=state, reason=None if seconds else "no", time_to_first_call_s=seconds)
        message = {"event": "outcome", "contender": str(contender), "outcome": json_from_value(outcome)}
        return Answer(messages=[message], conditions={}, death=None)


@pytest.fixture
def sweep(run, shape, timing_line, tmp_path):
    """A sweep of which everything is timed; one contender failed."""
    names = ("eager", "compiled", "raises", "segfaults", "is-wrong")
    contenders = tuple(Contender(provider=name) for name in names)
    plan = Plan(
        run=run,
        path=tmp_path / "journal.jsonl",
        device=DeviceKind.CPU,
        threads=1,
        axes=QUICK,
        groups=(Group(shape=shape, contenders=contenders),),
    )
    lines = [replace(timing_line, head=replace(timing_line.head, contender=each)) for each in contenders]
    lines[-1] = replace(lines[-1], outcome=TimingOutcome(state=State.WRONG, reason="it is"))
    return empty_sweep(plan).with_lines(lines)


def test_every_point_that_is_ok_has_its_first_call_timed_in_a_worker_of_its_own(sweep):
    said = []
    done = with_first_calls(sweep, new_worker=FakeWorker, say=said.append, is_time_up=lambda: False)
    found = {c.provider: line.outcome.time_to_first_call_s for (_, c), line in done.recorded.timings.items()}
    assert found == {"eager": 0.01, "compiled": 3.5, "raises": None, "segfaults": None, "is-wrong": None}
    assert [text.split(": ")[-1] for text in said] == [
        "10 ms to its first call",
        "3.50 s to its first call",
        "no",
        "killed by SIGSEGV",
    ]


def test_a_first_call_is_written_beside_what_was_measured_and_is_not_timed_again(sweep):
    done = with_first_calls(sweep, new_worker=FakeWorker, say=lambda _: None, is_time_up=lambda: False)
    written = JournalReader(sweep.plan.path).read()
    assert [line.head.contender.provider for line in written] == ["eager", "compiled"]
    for line in written:
        before = sweep.recorded.timings[line.head.shape, line.head.contender]
        assert replace(line, outcome=replace(line.outcome, time_to_first_call_s=None)) == before
    assert [line.head.contender.provider for line in lines_without_first_call(done)] == ["raises", "segfaults"]


def test_when_the_time_is_up_no_first_call_is_begun(sweep):
    done = with_first_calls(sweep, new_worker=FakeWorker, say=lambda _: None, is_time_up=lambda: True)
    assert done == sweep


@pytest.mark.slow
def test_a_real_worker_times_first_calls_after_the_sweep_and_only_if_asked(tmp_path, known_ceilings):
    settings = Settings(
        lock_file=settings_from_environment().lock_file,
        data_dir=tmp_path,
        machine="testbox",
        threads=1,
        device=DeviceKind.CPU,
        is_uncommitted=True,
    )
    environment = environment_name(DeviceKind.CPU, settings)
    keep_ceilings(tmp_path, known_ceilings, machine="testbox", environment=environment)
    axes = replace(QUICK, name="tiny", batches=(8,), hiddens=(32,), providers=("eager", "fused"), budget_s=0.02)
    before = measure(settings, axes=axes, operation="mlp")
    assert {line.outcome.time_to_first_call_s for line in before.timings.values()} == {None}
    after = measure(replace(settings, times_first_calls=True), axes=axes, operation="mlp")
    seconds = {c.provider: line.outcome.time_to_first_call_s for (_, c), line in after.timings.items()}
    assert 0 < seconds["eager"] < seconds["fused"], "fused_mlp has yet to be imported"
    assert {key: line.outcome.samples_s for key, line in after.timings.items()} == {
        key: line.outcome.samples_s for key, line in before.timings.items()
    }
