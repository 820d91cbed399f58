"""The ways of a sweep through its plan: which process visits which group, and what interrupts it."""

import itertools
import json
import time
from dataclasses import replace
from typing import ClassVar

import pytest
import torch

from benchmarks.ruler.plan.axes import QUICK
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.record.outcome import State
from benchmarks.ruler.record.provenance import environment_name
from benchmarks.ruler.sweep import measure as sweep
from benchmarks.ruler.sweep import sweep_plan
from benchmarks.ruler.sweep.machine_file import keep_ceilings
from benchmarks.ruler.sweep.measure import measure
from benchmarks.ruler.worker.process import Death, WorkerProcess
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
    assert [len(line.get("visits", ())) for line in lines if line["point"]["provider"] == "eager"][:6] == [
        1,
        1,
        2,
        2,
        3,
        3,
    ]


def test_a_sweep_that_was_interrupted_between_visits_goes_on_with_those_that_are_missing(
    elsewhere, monkeypatch, tmp_path
):
    axes = replace(TINY, batches=(4, 8), visits=2)
    groups_done = itertools.count()
    monkeypatch.setattr(sweep, "is_time_up", lambda _: next(groups_done) > 5)
    begun = measure(elsewhere, axes=axes, operation="linear")
    assert sorted(len(line.outcome.visits) for line in begun.timings.values()) == [1, 2]
    assert begun.profiles == {}
    monkeypatch.setattr(sweep, "is_time_up", lambda _: False)
    done = measure(elsewhere, axes=axes, operation="linear")
    assert [len(line.outcome.visits) for line in done.timings.values()] == [2, 2]
    assert len(done.profiles) == 2
    for key, line in done.timings.items():
        assert line.group == begun.timings[key].group
        assert line.outcome.visits[: len(begun.timings[key].outcome.visits)] == begun.timings[key].outcome.visits


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


def test_nothing_is_timed_in_a_process_that_a_profiler_has_run_in(shape):
    class Current:
        def set(self, index):
            pass

    worker = Worker(device=torch.device("cpu"), current=Current(), provider_module=None, send=lambda _: None)
    nobody = Request(task=Task.PROFILE, shape=shape, contenders=(), budget_s=0.0)
    worker.answer(nobody)
    with pytest.raises(AssertionError, match="nothing is timed"):
        worker.answer(replace(nobody, task=Task.TIME))
