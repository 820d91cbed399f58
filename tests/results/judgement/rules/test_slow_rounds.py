"""Rounds in which the machine was slower than at its best: they count where both halves were slow alike."""

from __future__ import annotations

import pytest

from results.files.disturbances import is_slowness_alone
from results.judgement.comparison.processes import Pair, Process
from results.judgement.comparison.slow_rounds import ALIKE, with_alike_rounds
from results.judgement.outcomes import Change
from results.judgement.verdicts import judge
from tests.made_values import A, B, row

NOISE = [1.0, 1.004, 0.996, 1.002, 0.998]
SLOW = "the machine ran at 84% of its best (one core's arithmetic)"
STOLEN = "12% of the time was stolen by the hypervisor"


def measured(factor, commit, *, speeds, disturbed=SLOW, **point):
    found = row([factor * one for one in NOISE], commit=commit, **point)
    processes = zip(found.processes, speeds, strict=True)
    return found._replace(processes=tuple(one._replace(disturbed=disturbed, speed=speed) for one, speed in processes))


def judged(factor, *, at_base, at_head, disturbed=SLOW, is_paired=True):
    """Six shapes of fused and of eager in five rounds; fused is slower by `factor` at the head."""
    sides = [
        [
            measured(factor if fused and commit == B else 1.0, commit, speeds=speeds, disturbed=disturbed, **point)
            for batch in range(6)
            for fused in (True, False)
            for point in [{"batch": batch, "provider": "fused" if fused else "eager"}]
        ]
        for commit, speeds in ((A, at_base), (B, at_head))
    ]
    found = judge(*sides, base_commit=A, head_commit=B, is_paired=is_paired, least_change=0.03)
    ours = [one for one in found.verdicts if one.head.parameters[0].value == "fused"]
    assert all((one.interval is None) is one.evidence.difference.is_disturbed for one in ours)
    return {one.change for one in ours}


def test_a_slowdown_is_found_where_each_round_was_slow_in_both_halves_alike():
    assert judged(1.06, at_base=[0.84] * 5, at_head=[0.86, 0.8, 0.84, 0.84, 0.9]) == {Change.SLOWER}
    assert judged(1.0, at_base=[0.84] * 5, at_head=[0.86, 0.8, 0.84, 0.84, 0.9]) == {Change.SAME}


@pytest.mark.parametrize(
    ("at_base", "at_head", "disturbed"),
    [
        ([0.84] * 5, [0.7] * 5, SLOW),
        ([0.7] * 5, [0.84] * 5, SLOW),
        ([None] * 5, [None] * 5, SLOW),
        ([0.84] * 5, [0.84] * 5, STOLEN),
        ([0.84] * 5, [0.84] * 5, f"{SLOW}; {STOLEN}"),
    ],
)
def test_nothing_is_said_where_halves_differ_or_something_else_disturbed_them(at_base, at_head, disturbed):
    assert judged(1.5, at_base=at_base, at_head=at_head, disturbed=disturbed) == {Change.UNCERTAIN}


def test_commits_of_other_hours_are_held_against_the_machine_at_its_best():
    assert judged(1.5, at_base=[0.84] * 5, at_head=[0.84] * 5, is_paired=False) == {Change.UNCERTAIN}


def test_only_the_rounds_that_were_alike_count():
    def side(speeds, *, is_head):
        return tuple(
            Process(run="r", visit=i, log=0.0, is_disturbed=True, is_head=is_head, speed=speed)
            for i, speed in enumerate(speeds)
        )

    pair = Pair(
        name="p",
        testbed="t",
        surface="s",
        base=side([0.5, 1.0, 1.0, None, 0.5], is_head=False),
        head=side([0.5, ALIKE - 1e-9, ALIKE, 0.5], is_head=True),
    )
    found = with_alike_rounds(pair)
    assert [one.is_disturbed for one in found.base] == [False, True, False, True, True]
    assert [one.is_disturbed for one in found.head] == [False, True, False, True]
    assert [one.visit for one in found.base] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("text", "expected"),
    [(SLOW, True), (f"{SLOW}; {SLOW}", True), (STOLEN, False), (f"{SLOW}; {STOLEN}", False), ("", False)],
)
def test_slowness_alone_is_told_from_what_else_disturbs(text, expected):
    assert is_slowness_alone(text) is expected
