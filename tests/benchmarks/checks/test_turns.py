"""A ring in which one works at a time, in the order of joining, whoever leaves or dies."""

from __future__ import annotations

import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from statistics import median

import pytest

from benchmarks.ruler.checks import turns
from benchmarks.ruler.checks.turns import Ring, Turn
from benchmarks.ruler.checks.worker_in_turns import CHUNK_S
from benchmarks.ruler.plan.points import DeviceKind, contender_from_name
from benchmarks.ruler.record.codec import value_from_json
from benchmarks.ruler.record.outcome import State, TimingOutcome
from benchmarks.ruler.worker.process import WorkerProcess
from benchmarks.ruler.worker.protocol import Request, Task

LONGEST_S = 60.0
"""Until whoever waits for another is taken to hang, in seconds."""


@pytest.fixture
def ring():
    with Ring() as found:
        yield found


def test_one_works_at_a_time_and_all_in_turn(ring, monkeypatch):
    monkeypatch.setattr(turns, "_SIGN_S", 0.01)
    log, at_work, most = [], set(), []
    has_begun, waits = threading.Event(), {name: threading.Event() for name in "abc"}

    def work(name):
        with Turn(ring.name, waits=waits[name].set) as turn:
            if name == "a":  # which has the first turn, and keeps it until the others wait for theirs
                has_begun.set()
                assert all(waits[other].wait(LONGEST_S) for other in "bc")
            for _ in range(5):
                turn.pass_on()
                at_work.add(name)
                most.append(len(at_work))
                time.sleep(0.001)
                log.append(name)
                at_work.remove(name)

    with ThreadPoolExecutor() as threads:
        first = threads.submit(work, "a")
        assert has_begun.wait(LONGEST_S)
        for each in [first, *(threads.submit(work, name) for name in "bc")]:
            each.result(timeout=LONGEST_S)
    assert set(most) == {1}
    assert len(log) == 15
    assert [sorted(log[start : start + 3]) for start in range(0, 15, 3)] == [["a", "b", "c"]] * 5


def test_a_member_that_leaves_with_the_turn_stops_nobody(ring):
    with Turn(ring.name):
        pass
    with Turn(ring.name) as turn:
        turn.pass_on()
        turn.pass_on()


def test_whoever_waits_for_a_turn_of_a_ring_that_is_gone_is_told():
    with Ring() as ring:
        turn = Turn(ring.name)
        turn.__enter__()
    with pytest.raises(ConnectionError, match=r"whoever gives out the turns is gone|Broken pipe|reset"):
        turn.pass_on()
    turn.__exit__()


def test_a_turn_outside_of_its_block_is_passed_on_to_nobody(ring):
    Turn(ring.name).pass_on()


def test_a_ring_that_nobody_joins_ends():
    with Ring():
        pass


def test_nobody_has_a_turn_before_all_who_are_awaited_have_joined():
    def join(ring):
        with Turn(ring.name):
            pass

    with Ring(n_first=3) as ring, ThreadPoolExecutor() as threads:
        for _ in range(2):  # a ring that all have left awaits all again
            first = [threads.submit(join, ring) for _ in range(2)]
            time.sleep(0.1)
            assert not any(each.done() for each in first)
            for each in [*first, threads.submit(join, ring)]:
                each.result(timeout=LONGEST_S)


def test_one_that_died_before_it_joined_is_not_awaited_until_all_are_again():
    def join(ring):
        with Turn(ring.name):
            pass

    with Ring(n_first=2) as ring, ThreadPoolExecutor() as threads:
        alone = threads.submit(join, ring)
        time.sleep(0.05)
        assert not alone.done()
        ring.expect_one_less()
        alone.result(timeout=LONGEST_S)
        ring.expect_all()
        both = [threads.submit(join, ring)]
        time.sleep(0.3)
        assert not both[0].done()
        for each in [*both, threads.submit(join, ring)]:
            each.result(timeout=LONGEST_S)


def test_whoever_waits_for_long_gives_signs_of_life(monkeypatch):
    monkeypatch.setattr(turns, "_SIGN_S", 0.01)
    signs = threading.Semaphore(0)

    def join(ring):
        with Turn(ring.name, waits=signs.release):
            pass

    with Ring(n_first=2) as ring, ThreadPoolExecutor() as threads:
        waiting = threads.submit(join, ring)
        assert all(signs.acquire(timeout=LONGEST_S) for _ in range(3))
        threads.submit(join, ring).result(timeout=LONGEST_S)
        waiting.result(timeout=LONGEST_S)


@pytest.mark.parametrize(("threads", "rest_s", "rests"), [(1, 30.0, False), (2, 0.2, True)])
def test_a_turn_of_several_threads_is_passed_on_when_they_sleep(ring, monkeypatch, threads, rest_s, rests):
    monkeypatch.setattr(turns, "REST_S", rest_s)
    start = time.monotonic()
    with Turn(ring.name, threads=threads) as turn:
        turn.pass_on()
    assert (time.monotonic() - start >= 2 * rest_s) is rests


def test_a_ring_needs_no_folder_however_long_the_name_of_the_temporary_one(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("long" * 30)))
    with Ring() as ring, Turn(ring.name):
        pass


@pytest.mark.slow
def test_workers_in_turns_measure_as_others_do_and_until_their_time_is_up(shape):
    request = Request(task=Task.TIME, shape=shape, contenders=(contender_from_name("eager"),), budget_s=100 * CHUNK_S)
    with ExitStack() as stack:
        ring = stack.enter_context(Ring(n_first=2))
        command = ("-m", "benchmarks.ruler.checks.worker_in_turns", "--ring", ring.name)
        workers = [
            stack.enter_context(WorkerProcess(device=DeviceKind.CPU, threads=1, point_limit_s=60, command=command))
            for _ in range(2)
        ]
        threads = stack.enter_context(ThreadPoolExecutor())
        ends = []
        for asked in [threads.submit(worker.ask, request) for worker in workers]:
            answer = asked.result(timeout=120)
            (message,) = [each for each in answer.messages if each["event"] == "outcome"]
            found = value_from_json(TimingOutcome, message["outcome"])
            assert (answer.death, found.state) == (None, State.OK)
            told = [each for each in answer.messages if each["event"] == "turn"]
            assert 5 <= len(told) <= 60, "more than their share of the time"
            ends.append([turn["at_s"] for turn in told])
            sample_s = median(turn["sample_s"]["eager"] for turn in told)
            assert sample_s / found.calls_per_sample == pytest.approx(found.latency_s, rel=0.5)
        (one_start, *_, one_end), (other_start, *_, other_end) = ends
        assert max(one_start, other_start) < min(one_end, other_end), "one after the other, and not in turns"
