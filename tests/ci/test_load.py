"""The step that refuses to time on a busy machine."""

from __future__ import annotations

import itertools

import pytest
from ci.load import busy_share, waited_for_calm

IDLE = [100, 0, 50, 1000, 20, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("spent", "share"),
    [
        ([0, 0, 0, 100, 0, 0, 0, 0], 0.0),
        ([100, 0, 0, 0, 0, 0, 0, 0], 1.0),
        ([10, 5, 5, 60, 20, 0, 0, 0], 0.2),  # waiting for a disk is no work
        ([0, 0, 0, 75, 0, 0, 0, 25], 0.25),  # what a hypervisor took is
        ([0] * 8, 0.0),
    ],
)
def test_the_share_that_is_busy(spent, share):
    after = [a + b for a, b in zip(IDLE, [*spent, 0, 0], strict=True)]
    assert busy_share(IDLE, after) == pytest.approx(share)


def waited(loads, *, wait_s=10):
    seen, ticks = iter(loads), itertools.count(0, 5)
    return waited_for_calm(lambda: next(seen), most=0.3, wait_s=wait_s, clock=lambda: next(ticks))


def test_a_calm_machine_is_taken_at_once():
    assert waited([0.1]) == (True, 0.1)


def test_one_that_becomes_calm_is_waited_for():
    assert waited([0.9, 0.3]) == (True, 0.3)


def test_one_that_stays_busy_is_refused_with_the_least_that_was_seen():
    assert waited([0.9, 0.5, 0.8, 0.0]) == (False, 0.5)
