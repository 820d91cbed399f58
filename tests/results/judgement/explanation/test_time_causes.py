"""Edges of the rules that name a time as a cause: half of the change or more, of the same work or of the host."""

from __future__ import annotations

import pytest

from results.judgement.explanation import CauseKind
from results.judgement.explanation.causes import Cause, causes_of
from results.judgement.explanation.difference import DifferencePart, ProfileDifference, RowKind, RowPlace
from results.judgement.explanation.exact_differences import Quantity
from tests.made_calls import US
from tests.made_differences import CALL, causes, row

MORE, LESS = (f"the host spends {word} time outside operators" for word in ("more", "less"))


@pytest.mark.parametrize(
    ("kind", "base", "head", "change", "is_told"),
    [
        (RowKind.SLOWER, 20, 40, 40, True), (RowKind.SLOWER, 20, 40, 41, False), (RowKind.SAME, 20, 40, 20, False),
        (RowKind.FASTER, 40, 20, -20, True), (RowKind.FASTER, 40, 30, -100, False), (RowKind.FASTER, 40, 20, 20, False),
        (RowKind.SLOWER, 20, 40, 0, False),
    ],
)  # fmt: skip
def test_a_time_is_a_cause_if_it_is_half_of_the_change_or_more(kind, base, head, change, is_told):
    found = causes(row(kind, "aten::mm", (base, 1), (head, 1)), change=change, latency=128)
    words = f"`aten::mm` takes {head} µs instead of {base} µs"
    time = Cause(kind=CauseKind.TIME, words=words, change_s=pytest.approx((head - base) * US), is_exact=False)
    assert found == ((time,) if is_told else ())


def test_without_a_latency_no_time_is_a_cause():
    slower = row(RowKind.SLOWER, "aten::mm", (20, 1), (40, 1))
    assert causes_of(ProfileDifference(rows=(slower,)), (), CALL, CALL) == ()


@pytest.mark.parametrize(
    ("outside", "rest", "change", "words"),
    [
        (60, 40, 100, MORE),
        (50, 50, 100, MORE),
        (49, 0, 49, MORE),
        (49, 51, 100, None), (40, 60, 100, None), (160, -60, 100, None), (110, -10, 100, MORE),
        (-100, 0, -100, LESS), (-60, -40, -100, LESS),
        (60, -160, -100, None),
    ],
)  # fmt: skip
def test_time_outside_of_operators_is_a_cause_if_it_is_half_of_the_change_and_the_rest_is_no_more(
    outside, rest, change, words
):
    found = causes(change=change, latency=128, parts={"outside operators": outside, "rest": rest})
    host = Cause(kind=CauseKind.HOST, words=words or "", change_s=pytest.approx(outside * US), is_exact=False)
    assert found == ((host,) if words else ())


@pytest.mark.parametrize(
    ("frames", "sign", "where"),
    [
        ({}, 1, ", in Python between the events that the profile names"),
        ({"a": 60, "b": -5}, 1, ", most of it in `a`"),
        ({"b": -5, "a": 60}, -1, ", most of it in `a`"),
        ({"a": 30, "b": 30}, 1, ""),
        ({"a": 20, "b": 20}, 1, ", in Python between the events that the profile names"),
    ],
)  # fmt: skip
def test_the_frame_that_takes_half_of_the_hosts_time_is_named(frames, sign, where):
    rows = [row(RowKind.SAME, name, (100, 1), (100 + sign * us, 1), place=RowPlace.HOST) for name, us in frames.items()]
    parts = [
        DifferencePart(name=name, base_s=0.0, head_s=us * US)
        for name, us in (("outside operators", sign * 100), ("rest", 0))
    ]
    known = {"rows": tuple(rows), "parts": tuple(parts), "base_s": 200 * US, "head_s": (200 + sign * 100) * US}
    more = "more" if sign > 0 else "less"
    (found,) = causes_of(ProfileDifference(**known, is_by_tree=True), (), CALL, CALL)
    assert found.words == f"the host spends {more} time outside operators{where}"
    (by_name,) = causes_of(ProfileDifference(**known), (), CALL, CALL)
    assert by_name.words == f"the host spends {more} time outside operators"


@pytest.mark.parametrize(
    ("base_s", "head_s", "evidence"),
    [
        (30e-6, 90e-6, ", whose part went from 30 µs to 90 µs"),
        (30e-6, 79e-6, None),
        (None, 90e-6, ""),
        (30e-6, None, ""),
    ],
)
def test_a_device_waits_for_the_host_if_that_takes_half_of_it_longer_or_was_not_timed(base_s, head_s, evidence):
    found = causes(
        change=100, parts={"the device waits for the host": 100, "rest": 0},
        quantities=[Quantity(name="host time", base=base_s, head=head_s, unit="s", is_exact=False)],
    )  # fmt: skip
    assert [one.words for one in found] == (
        [] if evidence is None else [f"the device waits longer for the host{evidence}"]
    )
