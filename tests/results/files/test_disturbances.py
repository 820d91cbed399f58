"""What disturbed points, in words, and what it leaves standing."""

from __future__ import annotations

from results.files.disturbances import disturbed_in_words

SLOW = "the machine ran at {} % of its best (one core's arithmetic)"


def test_speedups_stand_where_the_machine_was_merely_slow():
    assert disturbed_in_words([SLOW.format(80), SLOW.format(90)]) == (
        f"{SLOW.format(80)}, at worst; it slows calls in turns alike, so × eager stands"
    )


def test_nothing_is_said_to_stand_where_anything_else_disturbed():
    for other in ("12 % of the time was stolen by the hypervisor", SLOW.format(50)):
        assert "stands" not in disturbed_in_words([SLOW.format(80), other])
