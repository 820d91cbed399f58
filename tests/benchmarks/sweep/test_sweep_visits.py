"""The ways of a sweep through its plan: which process visits which group, and what interrupts it."""

import itertools
import json
import time
from dataclasses import replace
from typing import ClassVar

import pytest
import torch

from benchmarks.ruler.plan.axes import QUICK
from benchmarks.ruler.plan.points import Contender, DeviceKind
from benchmarks.ruler.record.outcome import State, TimingOutcome
from benchmarks.ruler.record.provenance import environment_name
from benchmarks.ruler.sweep import measure as sweep
from benchmarks.ruler.sweep import sweep_plan
from benchmarks.ruler.sweep.machine_file import keep_ceilings
from benchmarks.ruler.sweep.measure import measure
from benchmarks.ruler.sweep.progress import Progress
from benchmarks.ruler.worker import tasks
from benchmarks.ruler.worker.process import Answer, Death, WorkerProcess
from benchmarks.ruler.worker.protocol import Request, Task
from benchmarks.ruler.worker.tasks import Worker

TINY = replace(QUICK, name="tiny", batches=(8,), hiddens=(32,), providers=("eager",), budget_s=0.02, visits=1)


@pytest.fixture
def elsewhere(elsewhere, known_ceilings):
    """The same with known ceilings, and a limit that a busy machine does not reach."""
    environment = environment_name(DeviceKind.CPU, elsewhere)
    keep_ceilings(elsewhere.data_dir, known_ceilings, machine="testbox", environment=environment)
    return replace(elsewhere, point_limit_s=100.0)


class SeenWorker(WorkerProcess):
    """A worker that writes down what its process is asked."""

    asked: ClassVar[list] = []

    def ask(self, request):
        answer = super().ask(request)
        self.asked.append((self._process.pid, request))
        return answer


def measured(visit):
    """What stays of a visit when a faster moment of the machine shows it to be slow."""
    return (visit.measured_at, visit.n_samples, visit.median_s)


def test_every_visit_has_a_process_of_its_own_and_the_last_one_profiles_after_all_timing(
    elsewhere, monkeypatch, tmp_path
):
    monkeypatch.setattr(sweep, "WorkerProcess", SeenWorker)
    monkeypatch.setattr(SeenWorker, "asked", [])
    axes = replace(TINY, batches=(4, 8), providers=("eager", "raises", "right"), visits=3)
    done = measure(elsewhere, axes=axes, operation="linear")
    pids = [pid for pid, _ in SeenWorker.asked]
    assert [(pids[:i].count(pid) == 0) for i, pid in enumerate(pids)] == [True, False, True, False, True] + [False] * 3
    requests = [request for _, request in SeenWorker.asked]
    assert [request.task for request in requests] == ["time"] * 6 + ["profile"] * 2
    assert [request.shape.batch for request in requests] == [4, 8, 8, 4, 4, 8, 4, 8]
    assert [request.is_first_visit for request in requests[:6]] == [True, True, False, False, False, False]
    # What failed is not tried again.
    assert [len(request.contenders) for request in requests] == [3, 3, 2, 2, 2, 2, 2, 2]
    right = next(line.outcome for (_, contender), line in done.timings.items() if contender.provider == "right")
    assert len(right.visits) == 3
    assert sum(one.n_samples for one in right.visits) == len(right.samples_s)
    assert right.latency_between_sd_s is not None
    (path,) = (tmp_path / "journal" / "testbox").glob("*.jsonl")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    of_eager = [line for line in lines if line["point"]["provider"] == "eager" and "visits" in line]
    for batch in axes.batches:
        written = [len(line["visits"]) for line in of_eager if line["point"]["batch"] == batch]
        # A visit that a faster moment of the machine shows to be slow is written again.
        assert [n for n, _ in itertools.groupby(written)] == [1, 2, 3]


def test_a_sweep_that_was_interrupted_between_visits_goes_on_with_those_that_are_missing(
    elsewhere, monkeypatch, tmp_path
):
    axes = replace(TINY, batches=(4, 8), visits=2)
    groups_done = itertools.count()
    monkeypatch.setattr(sweep, "is_time_up", lambda _: next(groups_done) > 4)
    begun = measure(elsewhere, axes=axes, operation="linear")
    assert sorted(len(line.outcome.visits) for line in begun.timings.values()) == [1, 2]
    assert begun.profiles == {}
    monkeypatch.setattr(sweep, "is_time_up", lambda _: False)
    done = measure(elsewhere, axes=axes, operation="linear")
    assert [len(line.outcome.visits) for line in done.timings.values()] == [2, 2]
    assert len(done.profiles) == 2
    for key, line in done.timings.items():
        assert line.group == begun.timings[key].group
        before = begun.timings[key].outcome.visits
        assert [measured(one) for one in line.outcome.visits[: len(before)]] == [measured(one) for one in before]


def test_a_later_visit_whose_worker_does_not_start_takes_nothing_from_the_earlier_ones(elsewhere, monkeypatch, capsys):
    class Unstartable(WorkerProcess):
        n_made = 0

        def __init__(self, **settings):
            super().__init__(**settings)
            type(self).n_made += 1
            self.number = self.n_made

        def start(self):
            if self.number == 1:
                return super().start()
            return Death(state=State.CRASHED, reason="the worker exited: no space left", contender_index=None)

    monkeypatch.setattr(sweep, "WorkerProcess", Unstartable)
    axes = replace(TINY, visits=2)
    begun = measure(elsewhere, axes=axes, operation="linear")
    assert [(line.outcome.state, len(line.outcome.visits)) for line in begun.timings.values()] == [("ok", 1)]
    assert "no space left; its earlier visits stand" in capsys.readouterr().out
    monkeypatch.setattr(sweep, "WorkerProcess", WorkerProcess)
    done = measure(elsewhere, axes=axes, operation="linear")
    assert [(line.outcome.state, len(line.outcome.visits)) for line in done.timings.values()] == [("ok", 2)]


def test_a_plan_that_is_handed_on_is_measured_whole_by_the_first_suite_that_comes(elsewhere, monkeypatch, tmp_path):
    monkeypatch.setattr(sweep, "WorkerProcess", SeenWorker)
    monkeypatch.setattr(SeenWorker, "asked", [])
    monkeypatch.setattr(sweep, "measured_commit", lambda _: None)
    planned, _ = sweep_plan.plan_sweep(elsewhere, TINY, device=DeviceKind.CPU)
    sweep_plan.write_plan(tmp_path / "plan.json", planned.plan)
    handed_on = replace(elsewhere, plan=tmp_path / "plan.json")
    done = measure(handed_on, operation="mlp")
    assert {shape.operation for shape, _ in done.timings} == {"linear", "mlp", "gated_mlp"}
    assert len({pid for pid, _ in SeenWorker.asked}) == 1
    n_asked = len(SeenWorker.asked)
    assert measure(handed_on, operation="linear") == done
    assert len(SeenWorker.asked) == n_asked


def test_no_group_is_begun_after_the_time_is_up_and_the_next_run_goes_on(elsewhere, tmp_path, capsys):
    late = replace(elsewhere, until=time.time() - 1)
    assert measure(late, axes=TINY, operation="linear").timings == {}
    assert "the time is up" in capsys.readouterr().out
    assert not (tmp_path / "journal").exists()
    done = measure(replace(elsewhere, until=time.time() + 600), axes=TINY, operation="linear")
    assert len(done.timings) == len(done.profiles) == 1


def test_a_sweep_whose_time_ends_within_it_keeps_what_it_has(elsewhere, monkeypatch):
    recorded = []
    append = sweep.journal.append
    monkeypatch.setattr(sweep.journal, "append", lambda path, lines: (recorded.extend(lines), append(path, lines)))
    monkeypatch.setattr(sweep, "is_time_up", lambda _: bool(recorded))
    done = measure(elsewhere, axes=replace(TINY, batches=(4, 8)), operation="linear")
    assert len(done.timings) == 1
    assert done.profiles == {}


@pytest.mark.parametrize(("is_limited", "waited"), [(True, 1), (False, 3)])
def test_where_time_is_limited_who_hangs_is_waited_for_once_and_not_at_every_shape(
    elsewhere, monkeypatch, is_limited, waited
):
    asked, real = [], sweep.outcomes_of_group

    def outcomes(worker, request, **options):
        """Answer for one that hangs, without its taking any time."""
        asked.append([each.provider for each in request.contenders])
        others = tuple(each for each in request.contenders if each.provider != "hangs")
        found, conditions = real(worker, replace(request, contenders=others), **options)
        hung = TimingOutcome(state=State.TIMED_OUT, reason="gave no sign")
        return {each: found.get(each, hung) for each in request.contenders}, conditions

    monkeypatch.setattr(sweep, "outcomes_of_group", outcomes)
    limited = replace(elsewhere, until=time.time() + 3600 if is_limited else None)
    axes = replace(TINY, providers=("eager", "hangs"), batches=(4, 8, 16))
    found = measure(limited, axes=axes, operation="linear", tasks=(Task.TIME,))
    assert sum("hangs" in providers for providers in asked) == waited
    assert len(asked) == 3
    outcomes_of_it = [line.outcome for (_, each), line in found.timings.items() if each.provider == "hangs"]
    assert [outcome.state for outcome in outcomes_of_it].count(State.TIMED_OUT) == waited
    assert all(
        outcome.reason.startswith("not tried, as it gave no sign at linear")
        for outcome in outcomes_of_it
        if outcome.state is State.UNAVAILABLE
    )
    assert {line.outcome.state for (_, each), line in found.timings.items() if each.provider == "eager"} == {State.OK}


def test_the_process_that_measured_ceilings_measures_no_group(settings, tmp_path, monkeypatch):
    elsewhere = replace(settings, data_dir=tmp_path, point_limit_s=100.0)
    asked = {"ask_ceilings": [], "ask": []}

    def noting(name):
        original = getattr(WorkerProcess, name)

        def ask(worker, request):
            answer = original(worker, request)
            asked[name].append(worker._process.pid)
            return answer

        return ask

    for name in asked:
        monkeypatch.setattr(WorkerProcess, name, noting(name))
    measure(elsewhere, axes=TINY, operation="linear", tasks=(Task.TIME,))
    # A machine that refused them is asked again when everything is timed, and then nothing else is.
    assert asked["ask"]
    assert asked["ask_ceilings"][0] not in asked["ask"]


def test_a_device_that_is_another_one_at_a_later_visit_has_its_own_ceilings_ensured(settings, tmp_path, monkeypatch):
    class Turning:
        """A worker that finds another device than the one before it."""

        devices = iter(["cuda", "cpu"])
        asked: ClassVar[list] = []

        def __init__(self, **_):
            self.hello = None

        def start(self):
            self.hello = {"device": next(self.devices), "conditions": {}}

        def stop(self):
            pass

        def ask_speed(self):
            return Answer(messages=(), conditions={}, death=None)

        def ask_ceilings(self, _):
            self.asked.append(self.hello["device"])
            return Answer(
                messages=({"event": "ceilings", "ceilings": None, "refused": "load"},), conditions={}, death=None
            )

    elsewhere = replace(settings, data_dir=tmp_path)
    planned, _ = sweep_plan.plan_sweep(elsewhere, TINY, device=DeviceKind.CPU)
    with Progress(None) as progress:
        measuring = sweep._Measuring(elsewhere, planned, "linear", progress, None)
        for _ in range(2):
            measuring._get_ready(Turning())
    assert Turning.asked == ["cuda", "cpu"]
    assert measuring._sweep.plan.device is DeviceKind.CPU


class Nobody:
    """The current contender of a worker that runs in the test's own process."""

    def set(self, index):
        pass


@pytest.mark.parametrize("named", ["GroupReferee", "workload"])
def test_a_referee_without_memory_is_named_and_the_worker_goes_on(shape, monkeypatch, named):
    def without_memory(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 GiB")

    messages = []
    worker = Worker(device=torch.device("cpu"), current=Nobody(), provider_module=None, send=messages.append)
    contenders = tuple(Contender(provider=name) for name in ("eager", "addmm-activation"))
    request = Request(task=Task.TIME, shape=shape, contenders=contenders, budget_s=0.01)
    with monkeypatch.context() as patched:
        patched.setattr(tasks, named, without_memory)
        worker.answer(request)
    *outcomes, done = messages
    assert [message["outcome"]["state"] for message in outcomes] == ["out_of_memory"] * 2
    assert all("the referee ran out of memory before any contender ran" in m["outcome"]["reason"] for m in outcomes)
    assert done["event"] == "done"
    messages.clear()
    worker.answer(request)
    assert messages[-2]["outcome"]["state"] == "ok"


def test_nothing_is_timed_in_a_process_that_a_profiler_has_run_in(shape):
    worker = Worker(device=torch.device("cpu"), current=Nobody(), provider_module=None, send=lambda _: None)
    nobody = Request(task=Task.PROFILE, shape=shape, contenders=(), budget_s=0.0)
    worker.answer(nobody)
    with pytest.raises(AssertionError, match="nothing is timed"):
        worker.answer(replace(nobody, task=Task.TIME))


def test_a_run_up_to_a_visit_leaves_the_others_and_the_profile_to_the_next(elsewhere, monkeypatch):
    monkeypatch.setattr(sweep, "WorkerProcess", SeenWorker)
    monkeypatch.setattr(SeenWorker, "asked", [])
    axes = replace(TINY, batches=(4, 8), visits=2)
    first = measure(replace(elsewhere, last_visit=1), axes=axes, operation="linear")
    assert [len(line.outcome.visits) for line in first.timings.values()] == [1, 1]
    assert not first.profiles
    # Time is shared out as if all visits were made at once.
    assert {request.n_visits for _, request in SeenWorker.asked} == {2}
    again = measure(replace(elsewhere, last_visit=1), axes=axes, operation="linear")
    assert again == first
    last = measure(replace(elsewhere, last_visit=2), axes=axes, operation="linear")
    assert [len(line.outcome.visits) for line in last.timings.values()] == [2, 2]
    assert len(last.profiles) == 2
