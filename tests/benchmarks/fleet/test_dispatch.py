"""Dispatch: what ended early is started again, what is done is not, and an engine that is missing is named."""

from __future__ import annotations

import signal
import sys
import threading
import time
from dataclasses import replace

import pytest

from benchmarks.ruler.errors import InvalidSettings
from benchmarks.ruler.fleet import dispatch
from benchmarks.ruler.fleet.dispatch import dispatched, engine, job_of
from benchmarks.ruler.fleet.engines import EngineName, EngineOptions, Job
from benchmarks.ruler.fleet.engines.local import run_jobs


def job(shard, code="raise SystemExit(0)"):
    return Job(shard=shard, command=(sys.executable, "-c", code), cwd="/")


@pytest.fixture
def options(tmp_path):
    return EngineOptions(logs=tmp_path / "logs")


def run(start, options, jobs, *, attempts=3, avoid=()):
    said = []
    codes = dispatched(start, options, jobs=jobs, avoid=lambda: avoid, attempts=attempts, say=said.append)
    return codes, said


def test_what_is_left_is_started_again_and_nothing_else(options):
    """Shard 2 is killed; shard 3 is measured by a host that turns out unfit, so its groups are missing again."""
    started, left = [], [[1, 2, 3], [2, 3], [], [1]]

    def start(jobs, _, avoid):
        started.append([each.shard for each in jobs])
        return {each.shard: -9 if each.shard == 2 and len(started) == 1 else 0 for each in jobs}

    codes, said = run(start, options, lambda: [job(number) for number in left[len(started)]])
    assert started == [[1, 2, 3], [2, 3]]
    assert codes == {1: 0, 2: 0, 3: 0}
    assert said == ["attempt 2 of 3: shard 2 (ended with -9), 3 (ended with 0)"]


def test_a_shard_that_no_host_was_left_for_is_said_not_to_have_started(options):
    codes, said = run(lambda *_: {}, options, lambda: [job(4)], attempts=2)
    assert (codes, said) == ({}, ["attempt 2 of 2: shard 4 (not started: no host left for it)"])


def test_attempts_come_to_an_end_and_unfit_hosts_are_handed_on(options):
    seen = []

    def start(jobs, _, avoid):
        seen.append(avoid)
        return {1: 3}

    assert run(start, options, lambda: [job(1)], attempts=2, avoid=("slow",))[0] == {1: 3}
    assert seen == [("slow",), ("slow",)]


def test_local_shards_run_in_turn_and_their_ends_are_told(options):
    codes = run_jobs([job(1), job(2, "raise SystemExit(3)"), job(3, "import os; os.kill(os.getpid(), 9)")], options, ())
    assert codes == {1: 0, 2: 3, 3: -9}


def test_each_of_several_local_slots_sees_one_gpu(tmp_path):
    code = "import os, time; print('gpu', os.environ['CUDA_VISIBLE_DEVICES'], flush=True); time.sleep(1)"
    options = EngineOptions(logs=tmp_path, gpus=1, slots=2)
    assert run_jobs([job(1, code), job(2, code)], options, ()) == {1: 0, 2: 0}
    assert sorted((tmp_path / f"000{n}.log").read_text() for n in (1, 2)) == ["gpu 0\n", "gpu 1\n"]


def test_an_interruption_ends_what_runs_here_and_starts_nothing_more(options, tmp_path):
    """As Ctrl-C does: the shard that runs is asked to end, those that wait never begin."""
    code = f"import pathlib, time; pathlib.Path(r'{tmp_path}', 'begun').open('a').write('x'); time.sleep(60)"

    def interrupt(signum, frame):
        raise KeyboardInterrupt

    interrupted = []

    def interrupt_once_it_runs():
        while not (tmp_path / "begun").exists():
            time.sleep(0.1)
        interrupted.append(time.monotonic())
        signal.pthread_kill(threading.main_thread().ident, signal.SIGALRM)

    before = signal.signal(signal.SIGALRM, interrupt)
    interrupter = threading.Thread(target=interrupt_once_it_runs, daemon=True)
    interrupter.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run_jobs([job(1, code), job(2, code), job(3, code)], options, ())
    finally:
        interrupter.join(60)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - interrupted[0] < 40
    assert (tmp_path / "begun").read_text() == "x"


def test_an_engine_that_is_not_installed_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(dispatch._ENGINES, EngineName.RAY, ("no_such_module_at_all", "fleet-ray"))
    with pytest.raises(InvalidSettings, match=r"--engine ray: no_such_module_at_all .* 'fusebench\[fleet-ray\]'"):
        engine(EngineName.RAY)
    assert engine(EngineName.LOCAL) is run_jobs


def test_a_job_is_a_command_that_works_on_the_shard_s_file(made_fleet):
    fleet = made_fleet()
    found = job_of(fleet.shards[0], fleet.folder, python="/opt/python")
    assert found.command[0] == "/opt/python"
    assert found.command[-2:] == ("work", str(fleet.folder / "shards" / "0001.json"))


def test_no_shard_is_sent_to_a_node_that_can_never_start_it(options, monkeypatch):
    """Sent to a Ray head without GPUs, a shard that needs one is given up at once, as often as it is tried."""
    ray_cluster = pytest.importorskip("benchmarks.ruler.fleet.engines.ray_cluster", reason="ray is not installed")
    nodes = [
        {
            "NodeID": name.encode().ljust(28).hex(),
            "NodeName": name,
            "NodeManagerHostname": name,
            "Alive": is_alive,
            "Resources": resources,
        }
        for name, is_alive, resources in (
            ("head", True, {"CPU": 1.0}),
            ("dead", False, {"CPU": 1.0, "GPU": 1.0}),
            ("slow", True, {"CPU": 1.0, "GPU": 1.0}),
            ("busy", True, {"CPU": 0.5, "GPU": 1.0}),
            ("fast", True, {"CPU": 1.0, "GPU": 1.0}),
        )
    ]
    sent = []

    class Task:
        def options(self, *, scheduling_strategy):
            sent.append(scheduling_strategy.node_id)
            return self

        def remote(self, *_):
            return 0, sent[-1]

    monkeypatch.setattr(ray_cluster.ray, "is_initialized", lambda: True)
    monkeypatch.setattr(ray_cluster.ray, "nodes", lambda: nodes)
    monkeypatch.setattr(ray_cluster.ray, "remote", lambda **_: lambda _: Task())
    monkeypatch.setattr(ray_cluster.ray, "get", lambda reference: reference)
    codes = ray_cluster.run_jobs([job(1), job(2)], replace(options, gpus=1), ["slow"])
    assert codes == {1: 0, 2: 0}
    assert [bytes.fromhex(node).decode().strip() for node in sent] == ["fast", "fast"]
