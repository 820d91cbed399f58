"""What lies between hosts, by the groups that a second one repeated."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.ruler.fleet.between_hosts import differences, words_from_differences
from benchmarks.ruler.fleet.reading import state_of
from benchmarks.ruler.fleet.recorded import record_of_host
from benchmarks.ruler.fleet.status_text import status_lines


def records_of(fleet):
    return {host: record_of_host(fleet.folder, host, fleet.fleet) for host in ("one", "two")}


def test_a_repeated_point_says_how_much_slower_the_second_host_is(made_fleet):
    fleet = made_fleet()
    keys = list(fleet.known)[:2]
    fleet.record("one", keys)
    fleet.record("two", keys, is_repeat=True)
    records = records_of(fleet)
    run_id = fleet.fleet.run_id(fleet.fleet.commits[0], is_repeat=True)
    points = records["two"].points[run_id, keys[1]]
    points |= {contender: replace(point, latency_s=1.1 * point.latency_s) for contender, point in points.items()}
    found = differences(fleet.fleet, records)
    assert [round(each.ratio, 6) for each in found] == [1.1, 1.1, 1.0, 1.0]
    assert (found[0].key, found[0].host, found[0].other) == (keys[1], "one", "two")
    assert "5.0 % in the median of 4 repeated points; furthest +10.0 %" in words_from_differences(found)


def test_groups_that_one_host_measured_say_nothing_of_hosts(made_fleet):
    fleet = made_fleet()
    fleet.record("one", fleet.known)
    fleet.record("two", list(fleet.known)[:1])
    assert differences(fleet.fleet, records_of(fleet)) == ()
    assert words_from_differences(()) is None


def test_a_disturbed_time_says_nothing_of_hosts(made_fleet):
    fleet = made_fleet()
    keys = list(fleet.known)[:1]
    fleet.record("one", keys)
    fleet.record("two", keys, is_repeat=True)
    records = records_of(fleet)
    points = records["one"].points[fleet.fleet.run_id(fleet.fleet.commits[0]), keys[0]]
    assert len(differences(fleet.fleet, records)) == len(points)
    contender = next(iter(points))
    points[contender] = replace(points[contender], latency_s=400 * points[contender].latency_s, is_disturbed=True)
    assert contender not in {each.contender for each in differences(fleet.fleet, records)}


def test_status_says_what_lies_between_hosts(made_fleet):
    fleet = made_fleet()
    fleet.record("one", fleet.known)
    assert not any(
        line.startswith("between hosts") for line in status_lines(state_of(fleet.folder).status(), folder=fleet.folder)
    )
    fleet.record("two", list(fleet.known)[:1], is_repeat=True)
    assert any(
        line.startswith("between hosts: 0.0 %")
        for line in status_lines(state_of(fleet.folder).status(), folder=fleet.folder)
    )
