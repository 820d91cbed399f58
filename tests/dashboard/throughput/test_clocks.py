"""Of a GPU it is said by which clock one is the fastest, who has the least device time, and who is host-bound."""

from __future__ import annotations

import json

import pytest

from dashboard.clocks import WHAT_IT_IS, clocks_of_shape, clocks_of_shapes, least_on_device
from dashboard.tables.map_drawing import map_card
from dashboard.tables.winner_map import winner_maps_of
from dashboard.tables.winners import winners_table
from dashboard.views.throughput.answer import answer_from
from dashboard.views.throughput.notes import note_of_winners, rankings_by_batch


def text_of(component):
    return json.dumps(component.to_plotly_json(), default=lambda child: child.to_plotly_json(), ensure_ascii=False)


def plain(text):
    return text.replace("\N{NARROW NO-BREAK SPACE}", " ").replace("\N{THIN SPACE}", " ")


@pytest.fixture
def on_gpu(point):
    """One shape of an H100: the wall times are the host's, and the device's order is another."""
    wall_and_device = {"eager": (45e-6, 14e-6), "fused": (50e-6, 8.7e-6), "captured": (11e-6, 11e-6)}
    return [
        point(
            provider=name,
            latency_s=wall,
            device_time_s=device,
            batch=1,
            speedup_vs_eager=None if name == "eager" else 45e-6 / wall,
        )
        for name, (wall, device) in wall_and_device.items()
    ]


def test_a_call_is_host_bound_if_the_device_works_for_less_than_half_of_it(point):
    assert point(latency_s=50e-6, device_time_s=24.9e-6).is_host_bound
    assert not point(latency_s=50e-6, device_time_s=25e-6).is_host_bound
    assert not point(latency_s=50e-6, device_time_s=None).is_host_bound
    assert not point(state="crashed").is_host_bound


def test_the_answer_tells_the_clock_the_least_device_time_and_who_is_host_bound(on_gpu):
    *_, told = answer_from(on_gpu, batch=1).details
    assert plain(told) == (
        "That is by wall time, what a caller waits for; the least device time has fused, 8.70 µs, captured 11.0 µs; "
        f"host-bound, as {WHAT_IT_IS}: eager (14.0 µs of 45.0 µs), fused (8.70 µs of 50.0 µs)."
    )


def test_where_the_fastest_has_the_least_device_time_too_it_is_said_once(on_gpu):
    rows = [row for row in on_gpu if row.provider != "fused"]
    told = plain(clocks_of_shape(rows, leader=rows[-1]))
    assert "it takes the least device time, too, 11.0 µs" in told
    assert "eager (14.0 µs of 45.0 µs)." in told


def test_the_table_shows_wall_and_device_time_apart(on_gpu):
    told = plain(text_of(winners_table(rankings_by_batch(on_gpu[:2]))))
    assert "Wall time, 95 % interval" in told
    assert "Device time" in told
    assert "14.0 µs " in told
    assert "host-bound" in told
    assert "host-bound" not in text_of(winners_table(rankings_by_batch(on_gpu)))
    assert note_of_winners(on_gpu).startswith("the fastest by wall time of the providers shown")


def test_a_map_tells_both_clocks_over_its_shapes(on_gpu):
    slow = [row._replace(batch=512, latency_s=9e-4, device_time_s=8e-4) for row in on_gpu[:2]]
    slower = [slow[0]._replace(batch=64), slow[1]._replace(batch=64, device_time_s=8.09e-4)]
    (one,) = winner_maps_of([*on_gpu, *slow, *slower], order={on_gpu[0].commit: 0})
    assert plain(one.clocks) == (
        "By wall time, what a caller waits for. Least device time: fused at 1, eager at 1, even, within 1 %, at 1. "
        f"Eager is host-bound at 1 of 3: {WHAT_IT_IS}."
    )
    assert one.clocks in text_of(map_card(one))


def test_of_a_cpu_nothing_is_said_of_clocks(point):
    rows = [point(provider="eager"), point(provider="fused", speedup_vs_eager=1.5)]
    assert least_on_device(rows) is None
    assert clocks_of_shape(rows, leader=rows[1]) is None
    assert clocks_of_shapes([rows]) is None
    told = text_of(winners_table(rankings_by_batch(rows)))
    assert "Device time" not in told
    assert "Latency, 95 % interval" in told
    assert note_of_winners(rows).startswith("the fastest of the providers shown")
    (one,) = winner_maps_of(rows, order={rows[0].commit: 0})
    assert one.clocks is None
