"""Edges of the rule for who is fastest: one contender alone, intervals that just touch, times without an interval."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest

from results.judgement.winners import FAR, Standing, far_quotients_in_words, leads_in_words, ranking_of
from results.rows import PointRow

NOW = datetime(2026, 11, 22, tzinfo=UTC)
KNOWN = {
    "provider": "fused", "weights": "plain", "ruler_version": "3", "measured_at": NOW, "state": "ok",
}  # fmt: skip


def point(provider="fused", speedup=None, *, latency=1.0, at=None, of_speedup=None, **others):
    """A point whose intervals are `at` (of the latency) and `of_speedup`; ± 1 % without them."""
    low, high = at or (0.99 * latency, 1.01 * latency)
    fields = {"latency_s": latency, "latency_ci_low_s": low, "latency_ci_high_s": high}
    if speedup is not None:
        low, high = of_speedup or (0.99 * speedup, 1.01 * speedup)
        fields |= {"speedup_vs_eager": speedup, "speedup_ci_low": low, "speedup_ci_high": high}
    return PointRow(**{**dict.fromkeys(PointRow._fields), **KNOWN, "provider": provider, **fields, **others})


EAGER = point("eager")


class TestOneAlone:
    def test_is_the_leader_and_neither_a_winner_nor_in_doubt_though_it_was_disturbed(self):
        for disturbed in (None, "stolen time"):
            found = ranking_of([point(latency=0.5, disturbed=disturbed)])
            assert (found.leader.provider, found.standing, found.winner, found.doubt) == ("fused", None, None, None)
            assert (found.runner_up, found.margin, found.least_margin, found.eager) == (None, None, None, None)
            assert found.candidates == (found.leader,)

    def test_nothing_ranks_where_nothing_has_a_time(self):
        assert ranking_of([]) is None
        assert ranking_of([point(latency_s=None)]) is None


class TestIntervals:
    @pytest.mark.parametrize(
        ("low", "standing"), [(1.5, Standing.FASTEST), (1.02, Standing.TIED), (1.01, Standing.TIED)]
    )
    def test_touch_where_the_next_begins_at_the_end_of_the_first(self, low, standing):
        rows = point("a", at=(0.98, 1.02)), point("b", latency=low + 0.01, at=(low, low + 0.02))
        found = ranking_of(rows)
        assert found.standing is standing
        assert found.least_margin == (pytest.approx(low / 1.02) if low > 1.02 else None)
        assert found.margin == pytest.approx(low + 0.01)

    def test_the_least_margin_is_over_the_nearest_interval_and_not_over_the_next_value(self):
        rows = point("a"), point("b", latency=2.0), point("c", latency=3.0, at=(1.5, 4.5))
        assert ranking_of(rows).least_margin == pytest.approx(1.5 / 1.01)

    def test_without_an_interval_the_value_stands_for_it(self):
        bare = {"latency_ci_low_s": None, "latency_ci_high_s": None}
        found = ranking_of([point("a", **bare), point("b", latency=2.0, **bare)])
        assert found.least_margin == pytest.approx(2.0)

    def test_the_latency_ranks_all_where_one_has_no_speedup(self):
        found = ranking_of([EAGER, point("a", 4.0, latency=0.5), point("b", latency=0.25)])
        assert (found.leader.provider, found.standing) == ("b", Standing.FASTEST)

    def test_a_leader_that_takes_no_time_has_no_margin(self):
        found = ranking_of([point("a", latency=0.0, at=(0.0, 0.0)), point("b")])
        assert (found.leader.provider, found.margin, found.least_margin) == ("a", None, None)

    def test_a_rival_that_is_slower_than_eager_has_a_margin(self):
        assert ranking_of([EAGER, point("a", 0.5)]).margin == pytest.approx(2.0)

    def test_a_speedup_of_zero_is_an_endless_time(self):
        found = ranking_of([EAGER, point("a", 2.0), point("b", 0.5, of_speedup=(0.0, 1.0))])
        assert (found.leader.provider, found.standing) == ("a", Standing.FASTEST)


class TestDoubt:
    def test_the_third_counts_if_it_was_disturbed_or_may_be_the_fastest_and_not_if_it_is_wide_and_far(self):
        two = EAGER, point("a", 3.0)
        for third, standing in (
            (point("b", 0.5, of_speedup=(0.4, 0.6)), Standing.FASTEST),
            (point("b", 0.5, disturbed="stolen time"), Standing.UNDECIDED),
            (point("b", 0.9, of_speedup=(0.1, 4.0)), Standing.UNDECIDED),
        ):
            assert ranking_of([*two, third]).standing is standing

    def test_a_small_lead_between_two_that_are_known_well_decides_beside_a_third_that_is_wide_and_far(self):
        third = point("b", 0.5, of_speedup=(0.4, 0.6))
        found = ranking_of([EAGER, point("a", 1.1), third])
        assert (found.standing, found.leader.provider, found.doubt) == (Standing.FASTEST, "a", None)

    def test_what_disturbed_comes_first_then_visits_together_then_each_that_is_wide(self):
        few = {"visit_count": 1, "visits_planned": 3}
        rows = [
            point("eager", **few), point("a", 3.0, **few), point("b", 2.9, of_speedup=(2.0, 4.0)),
            point("c", 2.9, disturbed="stolen time", **few),
        ]  # fmt: skip
        found = ranking_of(rows)
        assert (
            found.doubt == "disturbed: c; 1 of 3 visits: a; b: speedup known to ± 34.5\N{NARROW NO-BREAK SPACE}% only"
        )
        assert found.doubt_and_lead == found.doubt

    def test_a_decided_shape_has_none(self):
        found = ranking_of([EAGER, point("a", 2.0)])
        assert (found.doubt, found.doubt_and_lead) == (None, None)


class TestWidth:
    @pytest.mark.parametrize(
        ("low", "high", "standing"),
        [
            (1.2, 1.8, Standing.FASTEST), (1.19, 1.79, Standing.UNDECIDED), (1.05, 1.1, Standing.FASTEST),
            (0.9, 1.8, Standing.UNDECIDED),
        ],
    )  # fmt: skip
    def test_matters_no_more_where_the_lead_is_clear_of_it(self, low, high, standing):
        assert ranking_of([EAGER, point("a", (low + high) / 2, of_speedup=(low, high))]).standing is standing

    def test_counts_of_fewer_visits_than_planned_whatever_the_lead(self):
        rows = [EAGER, point("a", 3.0, of_speedup=(2.0, 4.0), visit_count=1, visits_planned=3)]
        assert ranking_of(rows).doubt_and_lead == "1 of 3 visits: a; ahead all the same, by 2.00 × at least"

    def test_is_unknown_without_an_interval_and_no_lead_counts_then(self):
        bare = {"latency_ci_low_s": None, "latency_ci_high_s": None}
        found = ranking_of([point("a", **bare), point("b", latency=9.0, **bare)])
        assert (found.standing, found.doubt) == (
            Standing.UNDECIDED, "a: latency has no interval; b: latency has no interval",
        )  # fmt: skip

    @pytest.mark.parametrize(
        ("leader", "next_"),
        [
            ({"latency_ci_low_s": None}, {}),
            ({}, {"latency_ci_high_s": None}),
            ({}, {"at": (2.0, math.inf)}),
            ({"latency": 0.0, "at": (0.0, 0.1)}, {}),  # less than the clock can tell
        ],
    )
    def test_of_half_an_interval_or_none_of_a_time_that_is_no_time_no_lead_counts(self, leader, next_):
        found = ranking_of([point("a", **leader), point("b", **{"latency": 9.0} | next_)])
        assert found.standing is Standing.UNDECIDED
        assert found.doubt == f"{'a' if leader else 'b'}: latency has no interval"


class TestWaiting:
    def test_leaves_no_lead_whoever_waited(self):
        """A call of two threads beside one busy process was 4.04 × eager's (3.96 to 4.20), and is 1.14 × alone."""
        why = WAITED.format(50)
        for who in ("eager", "fused", "far"):
            rows = [EAGER, point("fused", 4.04), point("far", 0.5)]
            found = ranking_of([row._replace(disturbed=why) if row.provider == who else row for row in rows])
            assert (found.standing, found.least_margin) == (Standing.UNDECIDED, None)
            assert found.doubt_and_lead == f"disturbed: {who}"
            assert leads_in_words([found]) is None


class TestLeads:
    def led(self, speedup, name="a"):
        return ranking_of([EAGER, point(name, speedup, visit_count=1, visits_planned=3)])

    def test_of_one_shape_and_of_several(self):
        least = 2 * 0.99
        assert leads_in_words([self.led(2.0)]) == (
            f"ahead of all others by paired rounds all the same: a at 1 shape, by {least:.2f} × at least"
        )
        assert leads_in_words([self.led(2.0), self.led(3.0), self.led(2.0, "b")]).endswith(
            "a at 2 shapes, by 1.98 to 2.97 × at least; b at 1 shape, by 1.98 × at least"
        )

    def test_of_none(self):
        assert leads_in_words([]) is None
        assert leads_in_words([ranking_of([EAGER, point("a", 2.0)])]) is None


class TestFarQuotients:
    @pytest.mark.parametrize(
        ("latency", "is_far"), [(0.5, False), (0.549, False), (0.551, True), (0.456, False), (0.454, True)]
    )
    def test_a_speedup_is_far_from_ten_percent_on(self, latency, is_far):
        told = far_quotients_in_words([(point(speedup=2.0, latency=latency), EAGER)])
        assert (told is not None) is is_far
        scaled = point(speedup=2.0, latency=3 * latency), point("eager", latency=3.0)
        assert far_quotients_in_words([scaled]) == told
        assert told is None or told.startswith("× eager is not the quotient of the latencies at 1 of 1 point: ")

    def test_one_that_is_just_there_is_not_far(self):
        assert far_quotients_in_words([(point(speedup=FAR, latency=1.0), EAGER)]) is None

    def test_points_without_a_speedup_a_latency_or_eager_are_not_compared(self):
        far = point(speedup=2.0, latency=1.0)
        unknown = point(latency=9.0), point(speedup=2.0, latency=None, at=(1.0, 1.0))
        pairs = [
            (far, EAGER),
            *((row, EAGER) for row in unknown),
            (far, None),
            (point(speedup=2.0, latency=0.5), EAGER),
        ]
        assert "at 1 of 2 points" in far_quotients_in_words(pairs)
        assert far_quotients_in_words([(far, point("eager", latency=None, at=(1.0, 1.0)))]) is None
        assert far_quotients_in_words([]) is None


KEPT = "the host kept {} % of the processor time from this machine"
WAITED = "other processes used 1.0 cores while this was measured, which waited for a processor {} % of the time"
SLOW = "the machine ran at {} % of its best (one core's arithmetic)"


class TestASlowMachine:
    @pytest.mark.parametrize(
        ("disturbed", "standing"),
        [
            (SLOW.format(89), Standing.FASTEST),
            (SLOW.format(70), Standing.FASTEST),
            (f"{SLOW.format(91)}; {SLOW.format(70)}", Standing.FASTEST),
            (SLOW.format(69), Standing.UNDECIDED),
            (f"{SLOW.format(91)}; {SLOW.format(69)}", Standing.UNDECIDED),
            ("the machine ran at less than 1 % of its best (reading memory)", Standing.UNDECIDED),
            ("the machine ran at some share of its best", Standing.UNDECIDED),
            (f"{SLOW.format(89)}; 12 % of the time was stolen by the hypervisor", Standing.UNDECIDED),
        ],
    )
    def test_slows_calls_in_turns_alike_so_that_their_ratio_decides_as_far_as_that_was_measured(
        self, disturbed, standing
    ):
        for who in ("eager", "fused", "compiled"):
            rows = [EAGER, point("compiled", 1.7), point("fused", 2.0)]
            rows = [row._replace(disturbed=disturbed) if row.provider == who else row for row in rows]
            found = ranking_of(rows)
            assert found.standing is standing
            assert found.doubt == (None if standing is Standing.FASTEST else f"disturbed: {who}")

    @pytest.mark.parametrize(
        ("disturbed", "low", "standing"),
        [
            (SLOW.format(69), 1.2, Standing.FASTEST),
            (SLOW.format(40), 1.2, Standing.FASTEST),
            (f"{SLOW.format(40)}; {SLOW.format(91)}", 1.2, Standing.FASTEST),
            (SLOW.format(40), 1.19, Standing.UNDECIDED),
            (SLOW.format(39), 9.0, Standing.UNDECIDED),
            (f"{SLOW.format(50)}; {KEPT.format(19)}", 1.2, Standing.FASTEST),
            (f"{SLOW.format(90)}; {KEPT.format(5)}", 1.19, Standing.UNDECIDED),
            (f"{SLOW.format(90)}; {KEPT.format(20)}", 9.0, Standing.UNDECIDED),
            (WAITED.format(19), 1.2, Standing.FASTEST),
            (WAITED.format(20), 9.0, Standing.UNDECIDED),
            ("a CPU quota, as containers have, stopped this process 7 % of the time", 1.2, Standing.FASTEST),
            ("the GPU was throttled to 90 % of its clock", 9.0, Standing.UNDECIDED),
        ],
    )
    def test_of_more_than_that_leaves_a_lead_that_is_clear_of_what_it_was_seen_to_feign(self, disturbed, low, standing):
        for who in ("eager", "a", "b"):
            rows = [EAGER, point("a", 0.5), point("b", 1.01 * low, of_speedup=(low, 1.02 * low))]
            found = ranking_of([row._replace(disturbed=disturbed) if row.provider == who else row for row in rows])
            assert found.standing is standing
            assert found.candidates[0].provider == "b"

    def test_leaves_a_wide_interval_in_doubt_for_its_width(self):
        rows = [EAGER, point("fused", 1.3, of_speedup=(1.17, 1.43), disturbed=SLOW.format(80))]
        assert ranking_of(rows).doubt == "fused: speedup known to ± 10.0\N{NARROW NO-BREAK SPACE}% only"

    def test_leaves_latencies_in_doubt(self):
        rows = [point("a", latency=1.0), point("b", latency=2.0, disturbed=SLOW.format(85))]
        found = ranking_of(rows)
        assert (found.standing, found.doubt) == (Standing.UNDECIDED, "disturbed: b")


@pytest.mark.parametrize(
    ("n_disturbed", "n_timed", "named"),
    [
        (3, 4, "p0, p1, p2"),
        (3, 3, "p0, p1, p2"),
        (4, 4, "all 4 providers"),
        (4, 5, "p0, p1 and 2 others"),
        (6, 9, "p0, p1 and 4 others"),
    ],
)
def test_of_many_disturbed_contenders_two_are_named_and_the_others_counted(n_disturbed, n_timed, named):
    rows = [
        point(f"p{i}", latency=1.0 + i, disturbed="stolen time" if i < n_disturbed else None) for i in range(n_timed)
    ]
    assert ranking_of(rows).doubt == f"disturbed: {named}"
