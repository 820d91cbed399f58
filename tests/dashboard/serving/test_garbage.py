"""Garbage is collected while nobody waits, and is collected at all."""

from __future__ import annotations

import gc
import time
import weakref

import pytest

from dashboard.serving import garbage
from dashboard.serving.garbage import FEWEST_NEW, LONGEST_S, SILENCE_S, CollectedInSilence


class Clock:
    """Clock that is told the time."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def collected(clock, *, application=lambda _environ, _start: [b""], n_new=FEWEST_NEW):
    found = []
    answering = CollectedInSilence(
        application, collect=lambda: found.append(clock.now), n_new=lambda: n_new, clock=clock
    )
    return answering, found


def test_nothing_is_collected_until_nobody_has_asked_for_a_while(clock):
    answering, found = collected(clock)
    clock.now += 10
    answering({}, None)
    clock.now += 0.9 * SILENCE_S
    answering.collect_if_due()
    assert found == []
    clock.now += 0.1 * SILENCE_S
    answering.collect_if_due()
    assert found == [clock.now]


def test_nothing_is_collected_while_an_answer_is_made(clock):
    def slow(_environ, _start):
        clock.now += 5 * SILENCE_S
        answering.collect_if_due()
        assert found == []
        return [b"made"]

    answering, found = collected(clock, application=slow)
    assert answering({}, None) == [b"made"]


def test_the_first_answer_after_hours_without_one_is_not_interrupted(clock):
    def slow(_environ, _start):
        answering.collect_if_due()
        clock.now += SILENCE_S
        answering.collect_if_due()
        return [b"made"]

    answering, found = collected(clock, application=slow)
    clock.now += 100 * LONGEST_S
    answering({}, None)
    assert found == []


def test_of_readers_without_a_pause_it_is_collected_now_and_then(clock):
    answering, found = collected(clock)
    for _ in range(int(3.5 * LONGEST_S)):
        clock.now += 1
        answering({}, None)
        answering.collect_if_due()
    assert len(found) == 3


def test_an_answer_that_fails_is_waited_for_no_longer(clock):
    def failing(_environ, _start):
        raise RuntimeError

    answering, found = collected(clock, application=failing)
    with pytest.raises(RuntimeError):
        answering({}, None)
    clock.now += SILENCE_S
    answering.collect_if_due()
    assert len(found) == 1


def test_a_server_that_nobody_asks_does_nothing(clock):
    answering, found = collected(clock, n_new=FEWEST_NEW - 1)
    clock.now += 10 * LONGEST_S
    answering.collect_if_due()
    assert found == []


def test_what_refers_to_itself_is_gone_soon_after_the_last_answer(monkeypatch):
    monkeypatch.setattr(garbage, "SILENCE_S", 0.01)
    monkeypatch.setattr(garbage, "LOOK_S", 0.01)

    class Node:
        pass

    made = Node()
    made.itself = made
    gone = weakref.ref(made)
    answering = CollectedInSilence(lambda _environ, _start: [b""])
    with answering.collecting():
        assert not gc.isenabled()
        del made
        answering({}, None)
        kept = [[] for _ in range(2 * FEWEST_NEW)]
        until = time.monotonic() + 20
        while gone() is not None and time.monotonic() < until:
            time.sleep(0.01)
        assert gone() is None
    assert gc.isenabled()
    del kept
