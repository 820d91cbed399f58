"""What `show` says below and beside its numbers, so that no two of them contradict each other."""

from __future__ import annotations

from datetime import timedelta

import pytest

from results.judgement.winners import far_quotients_in_words
from results.output.point_tables import points_as_text
from results.units import relative_half_width
from tests.made_points import points


@pytest.mark.parametrize(("factor", "is_told"), [(1.0, False), (1.05, False), (0.5, True), (1.5, True)])
def test_a_speedup_far_from_the_quotient_of_the_latencies_is_told(factor, is_told):
    eager, fused = points(64, fused=2.0)
    slowed = eager._replace(latency_s=factor * eager.latency_s)
    failed = fused._replace(latency_s=None, speedup_vs_eager=None)
    told = far_quotients_in_words([(slowed, slowed), (fused, slowed), (failed, slowed), (fused, None)])
    assert (told is not None) is is_told
    assert told is None or "at 1 of 1 point:" in told


def test_show_tells_a_speedup_far_from_the_quotient():
    eager, fused = (row._replace(point_id=i) for i, row in enumerate(points(64, fused=2.0)))
    assert "quotient" not in points_as_text([eager, fused])
    assert "× eager is not the quotient" in points_as_text([eager._replace(latency_s=1.0), fused])


def test_show_names_all_that_one_difference_is_of_and_hides_no_single_one():
    again = "saw 1 compilation a call"
    words = {"copying": "a copy", "extra": "an add", "guarded": again, "other": "x", "resetting": again, "last": "y"}
    rows = points(64, **dict.fromkeys(words, 1.0))
    rows = [row._replace(unexpected=words.get(row.provider), point_id=i) for i, row in enumerate(rows)]
    assert (
        f"unexpected, 5 of 6 points: copying mlp: a copy · extra mlp: an add · guarded, resetting mlp: {again} · "
        "other mlp: x\n"
    ) in f"{points_as_text(rows[:-1])}\n"
    assert f"{again} · 2 more" in points_as_text(rows)


def test_half_an_interval_wider_than_its_value_has_no_digits():
    assert relative_half_width(1.0, 0.0, 1.9) == "95.0\N{NARROW NO-BREAK SPACE}%"
    assert relative_half_width(1.0, 0.0, 400.0) == "> 100\N{NARROW NO-BREAK SPACE}%"


def test_points_of_two_rulers_are_told_apart_and_those_of_one_name_none():
    eager, fused = (row._replace(point_id=i, ruler_version="5") for i, row in enumerate(points(64, fused=2.0)))
    assert "ruler" not in points_as_text([eager, fused])
    old = fused._replace(ruler_version="4", latency_s=7.0, measured_at=fused.measured_at - timedelta(days=1))
    lines = points_as_text([eager, old]).splitlines()
    assert [line.split()[:3] for line in lines if line.startswith(("batch", "   64"))] == [
        ["batch", "provider", "ruler"],
        ["64", "eager", "5"],
        ["64", "fused", "4"],
    ]
    told = (
        "2 rulers, 1 by ruler 4, 1 by ruler 5: they do not compare, and of a shape those of the newest alone are ranked"
    )
    assert told in lines
    assert "quotient" not in "".join(lines), "eager's time of the other ruler is no divisor"
    assert "64  eager         5" in points_as_text([eager, old], shown=[eager])
