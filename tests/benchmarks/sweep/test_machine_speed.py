"""The machine's best speed from run to run."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import ClassVar

import pytest

from benchmarks.ruler.sweep.machine_file import keep_probe, kept_probe
from benchmarks.ruler.sweep.machine_speed import MachineSpeed
from benchmarks.ruler.worker.process import Answer

HERE = {"machine": "box", "environment": "py3.11-cpu-t2"}
CONDITIONS = {"torch": "2.13.0", "python": "3.11.7", "device": "a processor", "os": "Linux 6", "cpu_governor": None}


@pytest.fixture
def run(tmp_path):
    """Begins a run on the machine, with the conditions given."""

    def begun(now=None, **conditions):
        speed = MachineSpeed(tmp_path, **HERE)
        speed.begin({**CONDITIONS, **conditions}, now=now)
        return speed

    return begun


def seen(speed, *core_s):
    for each in core_s:
        speed.see({"probe_core_s": each, "probe_product_s": 5e-4, "load_by_others": 0.0})
    return speed


def test_a_machine_never_seen_has_no_best_and_nothing_is_written_for_it(run, tmp_path):
    assert run().best_s == {}
    assert kept_probe(tmp_path, **HERE) is None


def test_the_first_reading_is_the_best_and_later_runs_begin_with_it(run):
    assert seen(run(), 1e-3).best_s == {"core": 1e-3, "product": 5e-4}
    assert run().best_s == {"core": 1e-3, "product": 5e-4}


def test_a_slow_run_leaves_the_best_of_a_fast_one(run):
    seen(run(), *[1e-3] * 5)
    assert seen(run(), *[1.4e-3] * 20).best_s["core"] == 1e-3
    assert run().best_s["core"] == 1e-3


def test_one_lucky_reading_of_many_is_no_speed_that_the_machine_holds(run):
    assert seen(run(), *[1e-3] * 9, 0.7e-3, 1e-3).best_s["core"] == 1e-3


@pytest.mark.parametrize("other", [{"gpu_uuid": "GPU-2"}, {"host_cpu": "a slower processor"}])
def test_another_rented_machine_of_the_same_name_is_not_held_to_the_first_ones_best(run, other):
    first = {"device": "NVIDIA H200", "gpu_uuid": "GPU-1", "host_cpu": "a processor"}
    seen(run(**first), *[1e-3] * 5)
    assert run(**first).best_s["core"] == 1e-3
    assert run(**{**first, **other}).best_s == {}


def test_a_best_that_was_kept_before_a_condition_was_known_still_counts(run, tmp_path):
    seen(run(), *[1e-3] * 5)
    known = kept_probe(tmp_path, **HERE)
    keep_probe(tmp_path, replace(known, conditions=CONDITIONS), **HERE)
    assert run().best_s["core"] == 1e-3


def test_a_machine_that_was_slow_when_first_seen_is_found_out(run):
    speed = seen(run(), *[1.4e-3] * 3)
    assert speed.best_s["core"] == 1.4e-3
    seen(speed, *[1e-3] * 3)
    assert speed.best_s["core"] == 1e-3


@pytest.mark.parametrize("read", [0.0, -1e-9, float("nan"), float("inf")])
def test_what_no_clock_that_runs_can_read_is_no_best_even_where_it_was_kept(run, tmp_path, read):
    assert seen(run(), 1e-3, read, 1e-3, read).best_s["core"] == 1e-3
    keep_probe(tmp_path, replace(kept_probe(tmp_path, **HERE), seconds={"core": read, "memory": 1e-4}), **HERE)
    assert run().best_s == {"memory": 1e-4}


@pytest.mark.parametrize("changed", ["torch", "python", "device", "os", "cpu_governor"])
def test_the_best_of_another_software_or_machine_says_nothing(run, changed):
    seen(run(), 1e-3)
    assert run(**{changed: "another"}).best_s == {}


def test_a_best_of_long_ago_is_forgotten(run):
    seen(run(), 1e-3)
    assert run(now=datetime.now(UTC) + timedelta(days=29)).best_s["core"] == 1e-3
    assert run(now=datetime.now(UTC) + timedelta(days=31)).best_s == {}


class Looking:
    """A worker that looks at its machine's speed when it is asked, and counts how often."""

    hello: ClassVar = {"conditions": CONDITIONS}

    def __init__(self):
        self.n_asked = 0

    def ask_speed(self):
        self.n_asked += 1
        return Answer(messages=(), conditions={"probe_core_s": 1e-3}, death=None)


def test_a_machine_is_looked_at_if_nothing_is_known_of_it_and_only_then(tmp_path):
    worker = Looking()
    for _ in range(2):
        speed = MachineSpeed(tmp_path, **HERE)
        speed.learn_from(worker)
        assert speed.best_s == {"core": 1e-3}
    assert worker.n_asked == 1


def test_a_look_that_is_not_kept_writes_nothing(tmp_path):
    MachineSpeed(tmp_path, **HERE, is_kept=False).learn_from(Looking())
    assert kept_probe(tmp_path, **HERE) is None
