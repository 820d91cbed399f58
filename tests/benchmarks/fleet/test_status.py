"""Status of a fleet by what its hosts have recorded and noted, and what is planned again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from benchmarks.ruler.errors import InvalidAxes
from benchmarks.ruler.fleet.notes import Note, Notebook, WorkState
from benchmarks.ruler.fleet.planning import shards_again
from benchmarks.ruler.fleet.reading import state_of
from benchmarks.ruler.fleet.recorded import record_of_host
from benchmarks.ruler.fleet.status import fleet_status
from benchmarks.ruler.fleet.status_text import status_lines

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def note(shard, state=WorkState.RUNNING, *, minutes_ago=1, started=60):
    seen, begun = (NOW - timedelta(minutes=each) for each in (minutes_ago, started))
    return {shard: Note(shard=shard, state=state, started_at=begun.isoformat(), seen_at=seen.isoformat())}


def status_of(made, notes=None, unfit=None):
    hosts = [path.name for path in (made.folder / "hosts").iterdir()] if (made.folder / "hosts").exists() else []
    return fleet_status(
        made.fleet,
        made.shards,
        made.known,
        made.costs,
        records={host: record_of_host(made.folder, host, made.fleet) for host in hosts},
        notes=notes or {},
        unfit=unfit or {},
        now=NOW,
    )


def test_every_group_is_done_running_or_missing(made_fleet):
    fleet = made_fleet(n_shards=3)
    first, second, third = (shard.groups for shard in fleet.shards)
    fleet.record("one", first)
    fleet.record("two", second[:1])
    found = status_of(fleet, {"two": note(2)})
    assert found.done == {*first, second[0]}
    assert found.running == set(second[1:])
    assert set(found.missing) == set(third)
    assert found.n_groups == len(fleet.known)


def test_a_host_without_a_sign_of_life_is_lost_and_its_groups_are_missing(made_fleet):
    fleet = made_fleet()
    fleet.record("one", fleet.shards[0].groups[:1])
    found = status_of(fleet, {"one": note(1, minutes_ago=30)})
    assert found.hosts[0].lost == 1
    assert set(found.missing) == {*fleet.known} - {fleet.shards[0].groups[0]}
    assert any("lost: one gave no sign since" in line for line in status_lines(found, folder=fleet.folder))


@pytest.mark.parametrize("state", [WorkState.ENDED, WorkState.FAILED])
def test_a_host_whose_work_is_over_is_not_lost(made_fleet, state):
    found = status_of(made_fleet(), {"one": note(1, state, minutes_ago=300)})
    assert (found.hosts[0].lost, found.hosts[0].running) == (None, None)


def test_what_an_unfit_host_has_measured_is_missing_and_why_is_told(made_fleet):
    fleet = made_fleet()
    fleet.record("slow", fleet.known)
    assert status_of(fleet).missing == ()
    found = status_of(fleet, unfit={"slow": "7 % slower"})
    assert set(found.missing) == set(fleet.known)
    assert "unfit: slow: 7 % slower" in status_lines(found, folder=fleet.folder)


def test_a_repeat_counts_by_another_host_than_the_one_that_measured_the_group(made_fleet):
    fleet = made_fleet()
    fleet.record("one", fleet.known)
    repeats = [key for shard in fleet.shards for key in shard.repeats]
    fleet.record("one", repeats, is_repeat=True)
    assert status_of(fleet).n_repeats_done == 0
    fleet.record("two", repeats, is_repeat=True)
    found = status_of(fleet)
    assert (found.n_repeats_done, found.n_repeats) == (len(repeats), len(repeats))


def test_groups_of_two_hosts_in_one_run_are_named_and_repeats_are_none(made_fleet):
    fleet = made_fleet()
    key = fleet.shards[0].groups[0]
    fleet.record("one", [key], visits=1)
    fleet.record("two", [key])
    fleet.record("two", fleet.shards[1].groups, is_repeat=True)
    [overlap] = status_of(fleet).overlaps
    assert (overlap.key, overlap.hosts) == (key, ("one", "two"))
    assert any(
        line.startswith(f"measured twice: {key} by one and two")
        for line in status_lines(status_of(fleet), folder=fleet.folder)
    )


def test_the_time_left_is_by_what_hosts_have_taken_and_shared_by_those_that_run(made_fleet):
    fleet = made_fleet()
    half = fleet.shards[0].groups
    fleet.record("one", half)
    left = sum(fleet.costs[key] for key in fleet.shards[1].groups)
    slowness = 59 * 60 / sum(fleet.costs[key] for key in half)
    alone = status_of(fleet, {"one": note(2)})
    assert alone.seconds_left == pytest.approx(slowness * left)
    both = status_of(fleet, {"one": note(2), "two": note(2, started=1)})
    assert both.seconds_left == pytest.approx(slowness * left / 2)
    assert status_of(fleet).seconds_left is None
    fleet.record("one", fleet.shards[1].groups)
    assert status_of(fleet).seconds_left == 0


def test_what_is_missing_is_planned_again_under_new_numbers(made_fleet):
    fleet = made_fleet()
    fleet.record("one", fleet.shards[0].groups)
    state = state_of(fleet.folder)
    assert [shard.number for shard in state.shards_left()] == [
        shard.number for shard in fleet.shards if shard.number == 2 or shard.repeats
    ]
    shards = shards_again(state, n_shards=2)
    assert [shard.number for shard in shards] == [3, 4]
    assert {key for shard in shards for key in shard.groups} == set(fleet.shards[1].groups)
    assert all(shard.repeats == () for shard in shards)
    fleet.record("one", fleet.shards[1].groups)
    with pytest.raises(InvalidAxes, match="no group is missing"):
        shards_again(state_of(fleet.folder), n_shards=2)


def test_shards_whose_repeats_somebody_looked_at_are_not_started_for_them_again(made_fleet):
    fleet = made_fleet()
    fleet.record("one", fleet.known)
    [repeater] = [shard for shard in fleet.shards if shard.repeats]
    assert state_of(fleet.folder).shards_left() == (repeater,)
    Notebook(fleet.folder, "one", repeater).write(WorkState.ENDED)
    assert state_of(fleet.folder).shards_left() == ()


def test_a_fleet_that_has_not_begun_says_what_is_missing_and_what_to_do(made_fleet):
    lines = status_lines(status_of(made_fleet()), folder=Path("my sweep"))
    assert lines[0].startswith("0 of 8 groups done, 8 missing, 0 of 1 repeated by a second host")
    assert "`fusebench fleet run 'my sweep'`" in lines[-1]
    assert "`fusebench fleet plan --missing 'my sweep' --shards N`" in lines[-1]
