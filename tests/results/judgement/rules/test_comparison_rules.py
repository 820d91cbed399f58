"""Differences of two commits by hand: means, variances, the machine's part; and whole comparisons to nine digits."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import numpy as np
import pytest

from results.judgement.comparison.differences import differences_of
from results.judgement.comparison.evidence import compare
from results.judgement.comparison.false_discoveries import benjamini_hochberg, selected_points
from results.judgement.comparison.moderation import Prior, moderated, priors_of
from results.judgement.comparison.processes import LEAST_CONTROLS, Pair, Process, controls_of, counted

SAID = Path(__file__).with_name("comparisons.json")


def side(logs, run, *, within=0.0, disturbed=()):
    return tuple(
        Process(run=run, visit=i, log=log, within_sd=within, is_disturbed=i in disturbed, is_head=run == "head")
        for i, log in enumerate(logs)
    )


def pair(base, head, *, name="p", control=None, is_control=False, within=(0.0, 0.0), surface="s", disturbed=((), ())):
    return Pair(
        name=name, testbed="t", surface=surface, control=control, is_control=is_control,
        base=side(base, "base", within=within[0], disturbed=disturbed[0]),
        head=side(head, "head", within=within[1], disturbed=disturbed[1]),
    )  # fmt: skip


def difference(*pairs, is_paired=False, at=0):
    return differences_of(list(pairs), is_paired=is_paired)[0][at]


class TestDifferences:
    """Of one series, without controls."""

    def test_of_processes_that_are_not_paired_variances_are_pooled(self):
        found = difference(pair([1.0, 3.0], [5.0, 6.0, 10.0]))
        assert found.log_ratio == pytest.approx(5.0)
        assert found.dof == 3
        assert found.variance == pytest.approx((1 * 2 + 2 * 7) / 3)
        assert found.factor == pytest.approx(1 / 2 + 1 / 3)
        assert (found.n_base, found.n_head, found.within, found.is_disturbed) == (2, 3, 0.0, False)

    def test_of_rounds_their_ratios_vary(self):
        found = difference(pair([1.0, 3.0, 8.0], [2.0, 6.0, 10.0]), is_paired=True)
        assert found.log_ratio == pytest.approx(2.0)
        assert (found.dof, found.variance, found.factor) == (2, pytest.approx(1.0), pytest.approx(1 / 3))

    def test_of_one_process_each_samples_tell_what_is_known_within(self):
        found = difference(pair([1.0], [2.0], within=(0.3, 0.4)))
        assert (found.dof, found.variance, found.factor, found.within) == (0, 0.0, 2.0, pytest.approx(0.25))
        assert difference(pair([1.0, 1.0], [2.0], within=(0.3, 0.4))).within == 0.0

    def test_of_unequal_rounds_those_that_both_have_count(self):
        found = difference(pair([1.0, 2.0, 9.0], [2.0, 3.0]), is_paired=True)
        assert (found.n_base, found.n_head, found.log_ratio) == (2, 2, pytest.approx(1.0))

    def test_disturbed_processes_and_rounds_are_left_out_while_others_are_left(self):
        some = pair([1.0, 5.0, 1.0], [2.0, 2.0, 7.0], disturbed=((1,), (2,)), within=(0.3, 0.4))
        loose, rounds = difference(some), difference(some, is_paired=True)
        assert (loose.log_ratio, loose.n_base, loose.n_head, loose.is_disturbed) == (1.0, 2, 2, False)
        assert (rounds.log_ratio, rounds.n_base, rounds.is_disturbed, rounds.within) == (1.0, 1, False, 0.25)
        every = pair([1.0, 2.0], [3.0, 4.0], disturbed=((0,), (1,)))
        assert difference(every, is_paired=True).is_disturbed
        assert difference(every, is_paired=True).n_base == 2
        assert not difference(every).is_disturbed
        for a, b in ((0,), ()), ((0, 1), ()), ((), (0, 1)):
            assert difference(pair([1.0] * len(a or "x"), [2.0] * len(b or "x"), disturbed=(a, b))).is_disturbed

    def test_of_disturbed_ones_alone_all_count(self):
        wild = side([1.0, 2.0], "r", disturbed=(0, 1))
        assert counted(wild) == wild
        assert counted(side([1.0, 2.0], "r", disturbed=(0,))) == side([1.0, 2.0], "r")[1:]


def machine(n, base, head):
    """Controls that all follow the machine."""
    return [pair(base, head, name=i, is_control=True, surface="eager") for i in range(n)]


class TestControls:
    """What the machine did, and how much of it a series shares."""

    def test_levels_and_deviations_are_from_the_mean_of_both_commits(self):
        pairs = [
            *machine(LEAST_CONTROLS - 1, [0.0, 1.0], [2.0, 3.0]),
            pair([10.0, 11.0], [14.0, 17.0], name="odd", is_control=True),
        ]
        found = controls_of(pairs)
        assert found.levels == {
            ("base", 0, False): -1.5,
            ("base", 1, False): -0.5,
            ("head", 0, True): 0.5,
            ("head", 1, True): 1.5,
        }
        # Means of 10.5 and 15.5: their mean is 13, whatever the number of processes.
        assert found.deviations["odd"] == {
            ("base", 0, False): -3.0,
            ("base", 1, False): -2.0,
            ("head", 0, True): 1.0,
            ("head", 1, True): 4.0,
        }
        assert (found.move.log_ratio, found.move.n_series) == (2.0, 5)

    def test_one_control_fewer_tells_no_level(self):
        assert controls_of(machine(LEAST_CONTROLS - 1, [0.0], [1.0])).levels == {}
        assert LEAST_CONTROLS == 5

    def test_the_spread_of_their_move_is_of_medians_process_by_process(self):
        """Base at 0 and 1, head at 2, 4 and 9: squares 0.5 and 26, three degrees of freedom."""
        found = controls_of(machine(3, [0.0, 1.0], [2.0, 4.0, 9.0])).move
        assert found.se == pytest.approx(math.sqrt(26.5 / 3 * (1 / 2 + 1 / 3)))
        assert controls_of(machine(3, [0.0], [2.0])).move.se is None
        assert controls_of(machine(3, [0.0, 1.0], [2.0])).move.se == pytest.approx(math.sqrt(0.5 / 1 * (1 / 2 + 1)))

    def test_a_control_that_one_side_lacks_tells_nothing(self):
        for base, head in (([], [1.0]), ([1.0], [])):
            found = controls_of([pair(base, head, is_control=True), pair([1.0], [2.0])])
            assert (found.move, found.deviations) == (None, {})

    def test_the_level_is_taken_out_of_every_series_with_or_without_a_control(self):
        controls = machine(5, [0.0, 0.2], [1.0, 1.2])
        ours = pair([5.0, 5.2], [6.5, 6.7], name="ours")
        found = difference(*controls, ours, at=-1)
        assert found.log_ratio == pytest.approx(0.5)
        assert found.variance == pytest.approx(0.0)
        assert difference(*controls, at=0).log_ratio == pytest.approx(0.0)

    def test_of_few_controls_the_own_one_is_taken_out_whole(self):
        control = pair([0.0, 0.4], [1.0, 1.4], name="c", is_control=True, surface="eager")
        ours = pair([5.0, 5.4], [6.5, 6.9], name="ours", control="c")
        other = pair([5.0, 5.4], [6.5, 6.9], name="other")
        found, _ = differences_of([control, ours, other], is_paired=False)
        assert [one.log_ratio for one in found] == pytest.approx([1.0, 0.5, 1.5])

    def test_a_process_that_only_few_shapes_have_is_told_by_the_own_control(self):
        """Rounds 0 of all shapes, round 1 of one shape only: there the level of all is not known."""
        controls = [
            pair([0.0, 0.3], [0.0, 0.1], name=0, is_control=True, surface="eager"),
            *[pair([0.0], [0.0], name=i, is_control=True, surface="eager") for i in range(1, 5)],
        ]
        ours = pair([5.0, 5.3], [6.0, 6.1], name="ours", control=0)
        found, said = differences_of([*controls, ours], is_paired=True)
        assert set(said["t"].levels) == {("base", 0, False), ("head", 0, True)}
        # The control's own mean is 0.1 (of 0.15 and 0.05): its deviations are -0.1, 0.2, -0.1, 0.0.
        assert said["t"].deviations[0][("base", 1, False)] == pytest.approx(0.2)
        first = 6.0 - 5.0
        second = (6.1 - 0.0) - (5.3 - 0.2)
        level = said["t"].levels
        first -= level[("head", 0, True)] - level[("base", 0, False)]
        assert found[-1].log_ratio == pytest.approx((first + second) / 2)

    def test_a_control_that_never_varies_tells_no_share(self):
        """It is 1 away from the level of all in every round: nothing says that the series follows it."""
        n = 12
        controls = [
            pair([0.0] * n, [1.0] * n, name="c", is_control=True, surface="eager"),
            *machine(4, [0.0] * n, [0.0] * n),
        ]
        ours = pair([0.0] * n, [0.3] * n, name="ours", control="c")
        assert difference(*controls, ours, is_paired=True, at=-1).log_ratio == pytest.approx(0.3)

    @pytest.mark.parametrize("control", [None, 0])
    def test_of_a_process_that_no_control_has_the_machines_part_is_not_known(self, control):
        controls = machine(5, [0.0], [1.0])
        ours = pair([5.0, 5.0], [6.0, 8.0], name="ours", control=control)
        # The level is -0.5 and 0.5 in the first round, and nothing in the second.
        assert difference(*controls, ours, at=-1).log_ratio == pytest.approx(7.0 - 0.25 - (5.0 + 0.25))

    @pytest.mark.parametrize(
        ("share", "n", "n_others", "expected"),
        [
            (0.5, 11, 4, 0.5), (0.5, 10, 4, 0.0), (2.0, 11, 4, 1.0), (-1.0, 11, 4, 0.0), (0.0, 11, 4, 0.0),
            (0.5, 11, 0, 0.5), (0.5, 10, 0, 1.0),
        ],
    )  # fmt: skip
    def test_the_share_of_the_own_control_is_by_least_squares_between_0_and_1(self, share, n, n_others, expected):
        """Rounds: n − 1 degrees of freedom, of which ten are needed; else it is 0 where the level is known, or 1."""
        rng = np.random.default_rng(4)
        own = rng.normal(0, 1, n)
        controls = [
            pair([0.0] * n, list(own), name="c", is_control=True, surface="eager"),
            *machine(n_others, [0.0] * n, [0.0] * n),
        ]
        ours = pair([0.0] * n, [1.0 + share * x for x in own], name="ours", control="c")
        found = difference(*controls, ours, is_paired=True, at=-1)
        found_level, deviations = controls_of(controls).levels, controls_of(controls).deviations["c"]
        ratios = []
        for i, x in enumerate(own):
            head, base = (
                (level := found_level.get(key, 0.0)) + expected * (deviations[key] - level)
                for key in (("head", i, True), ("base", i, False))
            )
            ratios.append(1.0 + share * x - head + base)
        assert found.log_ratio == pytest.approx(np.mean(ratios))


def scenes():
    """Comparisons of every kind: many and few controls, rounds or not, once or often, histories, disturbed, wild."""
    rng = np.random.default_rng(20)

    def of(n_controls, n, *, rounds, is_paired, name, single=0, spreads=None, disturbed=False, tails=None, sd=0.01):
        def logs(level):
            noise = rng.normal(0, sd, len(level)) if tails is None else sd * rng.standard_t(tails, len(level))
            return list(level + noise)

        levels = [rng.normal(0, 0.02, rounds), rng.normal(0.01, 0.02, rounds)]
        pairs = [
            pair(logs(levels[0]), logs(levels[1]), name=f"c{i}", is_control=True, surface="eager")
            for i in range(n_controls)
        ]
        for i in range(n):
            step = 0.2 if i % 5 == 0 else 0.0
            own = [each[: 1 if i < single else rounds] for each in levels]
            pairs.append(
                pair(
                    logs(own[0]), logs(own[1] + step), name=f"s{i}", surface=f"f{i % 2}",
                    control=f"c{i}" if i < n_controls else None, within=(0.004, 0.006),
                    disturbed=((0,), (0,)) if disturbed and i % 3 == 0 else ((), ()),
                )
            )  # fmt: skip
        return name, pairs, {"is_paired": is_paired, "spreads": spreads}

    known = {f"s{i}": Prior(sd=0.002 * (1 + i), dof=4 + i) for i in range(0, 30, 2)}
    yield of(8, 24, rounds=3, is_paired=False, name="three processes each")
    yield of(8, 24, rounds=5, is_paired=True, name="five rounds")
    yield of(12, 12, rounds=14, is_paired=True, name="so many rounds that shares are told")
    yield of(12, 12, rounds=8, is_paired=False, name="so many processes that shares are told")
    yield of(3, 9, rounds=3, is_paired=False, name="few series and few controls")
    yield of(0, 10, rounds=3, is_paired=False, name="ten series, no control")
    yield of(0, 20, rounds=1, is_paired=False, name="twenty single processes")
    yield of(0, 19, rounds=1, is_paired=False, name="nineteen single processes")
    yield of(6, 30, rounds=2, is_paired=False, name="single ones among repeated ones", single=10)
    yield of(6, 30, rounds=2, is_paired=False, name="histories", single=10, spreads=known)
    yield of(6, 30, rounds=3, is_paired=True, name="disturbed rounds", disturbed=True)
    yield of(6, 30, rounds=1, is_paired=True, name="one round")
    yield of(6, 30, rounds=3, is_paired=False, name="wild", tails=2)
    yield of(0, 20, rounds=1, is_paired=False, name="twenty quiet single processes", sd=0.0003)
    for is_paired in (True, False):
        name, pairs, options = of(6, 6, rounds=14, is_paired=is_paired, name=f"rounds of a few shapes, {is_paired}")
        # Only two shapes have all rounds; the control of one lacks the last of its head.
        few = [one._replace(base=one.base[:8], head=one.head[:8]) if one.name[1] > "1" else one for one in pairs]
        few[0] = few[0]._replace(head=few[0].head[:13])
        few[1] = few[1]._replace(base=few[1].base[:12])
        yield name, few, options


def told(pairs, options):
    found = compare(pairs, **options).evidence
    return [
        [one.ratio, *one.interval, one.p, one.floor, float(one.is_significant), one.difference.variance]
        for one in found
    ]


@pytest.mark.parametrize(
    ("name", "pairs", "options"), list(scenes()), ids=lambda each: each if isinstance(each, str) else ""
)
def test_a_whole_comparison_says_what_it_said(name, pairs, options):
    """To nine digits: whoever changes a rule sees what it changes. FUSEBENCH_WRITE_GOLDEN=1 writes them anew."""
    said = json.loads(SAID.read_text(encoding="utf-8")) if SAID.exists() else {}
    now = told(pairs, options)
    if os.environ.get("FUSEBENCH_WRITE_GOLDEN"):
        said[name] = now
        SAID.write_text(json.dumps(said, indent=0) + "\n", encoding="utf-8")
    np.testing.assert_allclose(now, said[name], rtol=1e-9, atol=1e-12)


class TestStatistics:
    """Edges of the rates and of moderation."""

    def test_a_p_at_its_limit_is_rejected(self):
        assert benjamini_hochberg(np.array([0.05]), q=0.05).tolist() == [True]
        assert benjamini_hochberg(np.array([0.025, 0.9]), q=0.05).tolist() == [True, False]
        assert benjamini_hochberg(np.array([]), q=0.05).tolist() == []

    def test_the_rate_is_half_of_5_percent_where_none_is_asked_for(self):
        assert benjamini_hochberg(np.array([0.0251])).tolist() == [False]
        assert benjamini_hochberg(np.array([0.0249])).tolist() == [True]
        assert selected_points(np.array([0.0249]), ["s"]).tolist() == [True]

    def test_without_degrees_of_freedom_of_its_own_the_prior_is_all_that_is_known(self):
        found = moderated(np.ones(1), np.array([9.0]), np.zeros(1), factors=np.ones(1), prior=Prior(sd=0.1, dof=4))
        assert (found.se[0], found.dof[0]) == (pytest.approx(0.1), 4)

    def test_no_spread_is_smaller_than_rounding(self):
        quiet = moderated(np.ones(1), np.zeros(1), np.array([4.0]), factors=np.ones(1), prior=Prior(sd=0.0, dof=4))
        assert quiet.se[0] == pytest.approx(5e-4)
        assert priors_of(np.zeros(10), np.full(10, 4.0), ["s"] * 10)["s"].sd == pytest.approx(5e-4, rel=0.2)

    def test_variances_that_are_all_alike_leave_the_most_degrees_of_freedom(self):
        assert priors_of(np.full(10, 1e-4), np.full(10, 4.0), ["s"] * 10)["s"].dof == 30.0
