"""Rounds in which the machine was slower than at its best: they count where both halves were slow alike."""

from __future__ import annotations

import math

import numpy as np
import pytest

from results.files.disturbances import is_slowness_alone
from results.judgement.comparison.processes import Pair, Process
from results.judgement.comparison.slow_rounds import ALIKE, with_alike_rounds, with_slow_rounds
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


TURNS = ([0.9, 0.6, 0.9, 0.6, 0.6], [0.6, 0.9, 0.6, 0.9, 0.9])
"""Speeds at base and head of a machine of two speeds: no round was alike, and neither side always had the slower."""


def slowed(pair_name, logs, *, speeds=TURNS, testbed="t", control=None, is_control=False, disturbed=None):
    """A pair whose processes take as much longer as the machine was slower; base is at 0, head at `logs`.

    disturbed: rounds that something else disturbed, of which no speed is known.
    """
    sides = []
    for is_head, each in enumerate(speeds):
        own = logs if is_head else [0.0] * len(each)
        sides.append(
            tuple(
                Process(
                    run="r",
                    visit=i,
                    log=log - math.log(speed),
                    is_disturbed=speed < ALIKE,
                    is_head=bool(is_head),
                    speed=None if i in (disturbed or ()) else speed,
                )
                for i, (log, speed) in enumerate(zip(own, each, strict=True))
            )
        )
    return Pair(pair_name, testbed, "s", *sides, control, is_control)


def eager(*, speeds=TURNS, **options):
    return slowed("eager", [0.0] * len(speeds[0]), speeds=speeds, is_control=True, **options)


def ours(n=4, *, noise=0.01, **options):
    rng = np.random.default_rng(n)
    return [slowed(i, rng.normal(0, noise, 5), control="eager", **options) for i in range(n)]


def counting(pairs):
    """Rounds that count of each pair."""
    return [
        [i for i, halves in enumerate(zip(one.base, one.head, strict=True)) if not any(h.is_disturbed for h in halves)]
        for one in with_slow_rounds(pairs)
    ]


def test_rounds_that_were_not_alike_count_where_a_control_was_slowed_with_them():
    assert counting([eager(), *ours()]) == [[0, 1, 2, 3, 4]] * 5
    assert counting(ours()) == [[]] * 4


def test_they_do_not_where_the_same_side_was_always_the_slower():
    one_sided = ([0.9] * 5, [0.6] * 5)
    assert counting([eager(speeds=one_sided), *ours(speeds=one_sided)]) == [[]] * 5
    but_one = ([0.9, 0.9, 0.9, 0.9, 0.6], [0.6, 0.6, 0.6, 0.6, 0.9])
    assert counting([eager(speeds=but_one), *ours(speeds=but_one)]) == [[0, 1, 2, 3, 4]] * 5


def test_they_do_not_where_something_else_disturbed_them_or_their_control():
    assert counting([eager(), *ours(6, disturbed=[0, 3])]) == [[0, 1, 2, 3, 4], *[[1, 2, 4]] * 6]
    assert counting([eager(disturbed=[0, 3]), *ours(6)]) == [[1, 2, 4]] * 7


@pytest.mark.parametrize("sides", [("base",), ("head",), ("base", "head")])
def test_they_do_not_where_their_control_was_not_measured(sides):
    control = eager()
    control = control._replace(**{side: getattr(control, side)[1:] for side in sides})
    pairs = with_slow_rounds([control, *ours()])
    found = [[i for i, one in enumerate(pair.base) if not one.is_disturbed] for pair in pairs]
    assert found[1:] == [[1, 2, 3, 4]] * 4


def test_a_half_that_was_not_looked_at_and_is_undisturbed_was_at_its_best():
    def unlooked(pair):
        return pair._replace(head=tuple(one._replace(is_disturbed=False, speed=None) for one in pair.head))

    speeds = ([0.9, 0.6, 0.9, 0.6, 0.6], [1.0] * 5)
    assert counting([unlooked(eager(speeds=speeds)), *map(unlooked, ours(speeds=speeds))]) == [[]] * 5


def unlooked_at(pair):
    """The pair whose halves at full speed were not looked at."""
    sides = (tuple(one if one.speed != 1 else one._replace(speed=None) for one in side) for side in pair[3:5])
    return pair._replace(**dict(zip(("base", "head"), sides, strict=True)))


def test_it_is_the_faster_half_whichever_side_it_is_on():
    speeds = ([1.0, 0.6, 1.0, 0.6, 0.6], [0.6, 1.0, 0.6, 1.0, 1.0])
    pairs = [eager(speeds=speeds), *ours(speeds=speeds)]
    assert counting([unlooked_at(one) for one in pairs]) == [[0, 1, 2, 3, 4]] * 5
    # What was nearly as fast is no slower half.
    nearly = ([0.95, 0.95, 0.95, 0.9, 0.9], [1.0, 1.0, 1.0, 0.6, 0.6])
    pairs = [eager(speeds=nearly), *ours(speeds=nearly)]
    assert counting([unlooked_at(one) for one in pairs]) == [[0, 1, 2]] * 5


@pytest.mark.parametrize("turned", [False, True])
def test_halves_that_are_just_alike_are_no_slower_ones(turned):
    speeds = ([ALIKE, ALIKE, 1.0, 1.0, 1.0], [1.0, 1.0, 0.6, 0.6, 0.6])
    speeds = speeds[::-1] if turned else speeds
    assert counting([eager(speeds=speeds), *ours(speeds=speeds)]) == [[0, 1]] * 5


def test_single_calm_rounds_make_calm_ones_no_better_known():
    """Three pairs know five calm rounds; sixty know one, and two slow ones that scatter three times as much."""
    rng = np.random.default_rng(5)
    speeds = ([1.0, 1.0, 0.6], [1.0, 0.6, 1.0])
    calm_speeds = ([1.0] * 5, [1.0] * 5)
    calm = [slowed(i, rng.normal(0, 0.01, 5), speeds=calm_speeds, control="other") for i in range(3)]
    noise = np.array([0.01, 0.03, 0.03])
    slow = [slowed(100 + i, rng.normal(0, 1, 3) * noise, speeds=speeds, control="eager") for i in range(60)]
    other = eager(speeds=calm_speeds)._replace(name="other")
    assert counting([other, *calm, eager(speeds=speeds), *slow])[-60:] == [[0, 1, 2]] * 60


def one_slow_half(scatter, *, shift=0.0):
    """Twenty pairs and eager: three calm rounds of 1 %, and two that were slow in one half and scatter by `scatter`."""
    speeds = ([1.0, 1.0, 1.0, 0.6, 1.0], [1.0, 1.0, 1.0, 1.0, 0.6])
    rng = np.random.default_rng(0)
    noise = np.array([0.01, 0.01, 0.01, scatter, scatter])
    pairs = [slowed(i, shift + rng.normal(0, 1, 5) * noise, speeds=speeds, control="eager") for i in range(20)]
    return [eager(speeds=speeds), *pairs]


@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_they_do_not_where_more_is_known_without_them(shift):
    assert counting(one_slow_half(0.01, shift=shift)) == [[0, 1, 2, 3, 4]] * 21
    assert counting(one_slow_half(0.10, shift=shift)) == [[0, 1, 2]] * 21


def test_pairs_without_such_rounds_count_for_both():
    """What they tell does not make rounds of others worse, nor better."""
    calm_speeds = ([1.0] * 5, [1.0] * 5)
    other = eager(speeds=calm_speeds)._replace(name="other")
    rng = np.random.default_rng(3)
    calm = [slowed(100 + i, rng.normal(0, 0.01, 5), speeds=calm_speeds, control="other") for i in range(200)]
    assert counting([other, *calm, *one_slow_half(0.01)])[-20:] == [[0, 1, 2, 3, 4]] * 20


def test_what_else_disturbed_the_control_of_a_calm_round_keeps_it_out_of_the_spread():
    """Ours was calm there, but what eager says of it is wild: it tells nothing of how rounds scatter."""
    pairs = one_slow_half(0.01)
    control = pairs[0]
    wild = control.head[0]._replace(log=5.0, is_disturbed=True, speed=None)
    pairs[0] = control._replace(head=(wild, *control.head[1:]))
    varied = [one._replace(head=(one.head[0]._replace(log=0.1 * i), *one.head[1:])) for i, one in enumerate(pairs[1:])]
    assert counting([pairs[0], *varied])[1:] == [[0, 1, 2, 3, 4]] * 20


def test_a_single_calm_round_tells_nothing_and_two_do():
    """Four pairs know three rounds and forty one: what the one is cannot be told from its noise."""
    two = ([1.0, 1.0, 0.6, 1.0], [1.0, 1.0, 1.0, 0.6])
    rng = np.random.default_rng(1)

    def pairs(n, scatter, *, n_rounds):
        noise = np.array([0.01, 0.01, scatter, scatter])[-n_rounds:]
        speeds = tuple(each[-n_rounds:] for each in two)
        drawn = [rng.normal(0, 1, n_rounds) * noise for _ in range(n)]
        return [slowed(i, logs, speeds=speeds, control="eager") for i, logs in enumerate(drawn)]

    calm_twice = [eager(speeds=two), *pairs(30, 0.05, n_rounds=4)]
    assert counting(calm_twice)[1:] == [[0, 1]] * 30
    calm_once = [eager(speeds=tuple(each[-3:] for each in two)), *pairs(30, 0.05, n_rounds=3)]
    assert counting(calm_once)[1:] == [[0, 1, 2]] * 30


def test_each_testbed_is_asked_by_itself():
    scattered = [one._replace(testbed="other") for one in [eager(), *ours(noise=0.01)]]
    is_one_sided = ([0.9] * 5, [0.6] * 5)
    found = counting([*scattered, eager(speeds=is_one_sided), *ours(speeds=is_one_sided)])
    assert found == [[0, 1, 2, 3, 4]] * 5 + [[]] * 5


def test_too_few_pairs_tell_nothing_of_their_spread():
    """Of two pairs of five rounds there are eight degrees of freedom; of five pairs of three ten, which are enough."""
    assert counting([eager(), *ours(2)]) == [[]] * 3
    first = tuple(each[:3] for each in TURNS)
    five = [slowed(i, [0.01 * i, 0.0, -0.01], speeds=first, control="eager") for i in range(5)]
    assert counting([slowed("eager", [0.0] * 3, speeds=first, is_control=True), *five]) == [[0, 1, 2]] * 6


@pytest.mark.parametrize(("factor", "expected"), [(1.06, Change.SLOWER), (1.0, Change.SAME)])
def test_a_machine_of_two_speeds_is_compared_by_what_eager_shares(factor, expected):
    sides = []
    for commit, speeds in zip((A, B), TURNS, strict=True):
        rows = []
        for batch in range(6):
            for provider in ("fused", "eager"):
                own = factor if provider == "fused" and commit == B else 1.0
                found = measured(own, commit, speeds=speeds, batch=batch, provider=provider)
                processes = [one._replace(value=one.value / one.speed) for one in found.processes]
                rows.append(found._replace(processes=tuple(processes)))
        sides.append(rows)
    found = judge(*sides, base_commit=A, head_commit=B, is_paired=True, least_change=0.03)
    changes = {one.change for one in found.verdicts if dict(one.head.parameters)["provider"] == "fused"}
    assert changes == {expected}
    without = judge(*sides, base_commit=A, head_commit=B, is_paired=True, least_change=0.03, has_controls=False)
    assert {one.change for one in without.verdicts} == {Change.UNCERTAIN}
