"""Status of a fleet: groups done, running and missing, hosts that are lost or unfit, and the time left. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from benchmarks.ruler.fleet.between_hosts import differences
from benchmarks.ruler.fleet.notes import Note, WorkState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.ruler.fleet.between_hosts import Difference
    from benchmarks.ruler.fleet.recorded import HostRecord
    from benchmarks.ruler.fleet.shards import Fleet, Shard
    from benchmarks.ruler.plan.points import Group

LOST_AFTER = timedelta(minutes=10)
"""Without a sign of life for so long a host counts as lost; it gives one each minute."""


@dataclass(frozen=True, kw_only=True)
class HostState:
    """A host, by what it has noted and recorded. unfit: the figures, or None. running: its shard now, if it lives.

    n_repeats: groups of other hosts that it has measured once more. seconds: that its shards have taken so far.
    """

    name: str
    n_done: int
    n_repeats: int
    running: int | None
    lost: int | None
    unfit: str | None
    last_seen: str | None
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """Group that several hosts have measured in the same run; ingest takes each point's later measurement."""

    key: str
    hosts: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Shard with missing groups that a host gave up, and why."""

    host: str
    shard: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class FleetStatus:
    """How far a fleet is. Groups are `done` on a fit host, `running` on a living one, else `missing`.

    n_repeats_done of n_repeats: by a host that is not the one that measured the group; differences: what
    lies between the two. seconds_left: None if unknown.
    """

    hosts: tuple[HostState, ...]
    done: frozenset[str]
    running: frozenset[str]
    missing: tuple[str, ...]
    failures: tuple[Failure, ...]
    n_repeats: int
    n_repeats_done: int
    overlaps: tuple[Overlap, ...]
    differences: tuple[Difference, ...]
    seconds_left: float | None

    @property
    def n_groups(self) -> int:
        """Number of groups that are planned."""
        return len(self.done) + len(self.running) + len(self.missing)


def fleet_status(  # noqa: PLR0913 - what is planned, and what the hosts say
    fleet: Fleet,
    shards: Sequence[Shard],
    known: Mapping[str, Group],
    costs: Mapping[str, float],
    *,
    records: Mapping[str, HostRecord],
    notes: Mapping[str, Mapping[int, Note]],
    unfit: Mapping[str, str],
    now: datetime,
) -> FleetStatus:
    """Return the status by the hosts' records, their notes by shard, and why those are unfit that are.

    known: all groups of the sweep; one whose shard's file is lost is missing.
    """
    complete = {host: record.complete(fleet, known) for host, record in records.items() if host not in unfit}
    again = {
        host: record.complete(fleet, known, is_repeat=True) for host, record in records.items() if host not in unfit
    }
    planned = {key: shard for shard in shards for key in shard.groups}
    done = frozenset(key for keys in complete.values() for key in keys) & planned.keys()
    hosts = tuple(
        _host_state(
            host, notes.get(host, {}), len(complete.get(host, ())), len(again.get(host, ())), unfit.get(host), now
        )
        for host in sorted({*records, *notes, *unfit})
    )
    # A host may have several shards: one is measured, and the others wait for the machine.
    alive = {note.shard for of_host in notes.values() for note in of_host.values() if _is_at_work(note, now)}
    running = frozenset(key for key, shard in planned.items() if key not in done and shard.number in alive)
    repeats = {key for shard in shards for key in shard.repeats}
    second = {
        key
        for key in repeats
        for host, keys in again.items()
        if key in keys and any(key in of_other for other, of_other in complete.items() if other != host)
    }
    missing = tuple(key for key in {**planned, **known} if key not in done | running)
    return FleetStatus(
        hosts=hosts,
        done=done,
        running=running,
        missing=missing,
        failures=_failures(notes, {planned[key].number for key in missing if key in planned}),
        n_repeats=len(repeats),
        n_repeats_done=len(second),
        overlaps=overlaps_of(fleet, records, unfit),
        differences=differences(fleet, {host: record for host, record in records.items() if host not in unfit}),
        seconds_left=_seconds_left(costs, done, known.keys() - done, hosts),
    )


def _failures(notes: Mapping[str, Mapping[int, Note]], numbers: set[int]) -> tuple[Failure, ...]:
    return tuple(
        Failure(host=host, shard=number, reason=note.detail)
        for host, of_host in sorted(notes.items())
        for number, note in sorted(of_host.items())
        if note.state is WorkState.FAILED and number in numbers
    )


def overlaps_of(fleet: Fleet, records: Mapping[str, HostRecord], unfit: Mapping[str, str]) -> tuple[Overlap, ...]:
    """Return the groups that more than one fit host has lines of in the same run."""
    of_key: dict[str, list[str]] = {}
    for host, record in records.items():
        for key in record.begun(fleet) if host not in unfit else ():
            of_key.setdefault(key, []).append(host)
    return tuple(Overlap(key=key, hosts=tuple(hosts)) for key, hosts in sorted(of_key.items()) if len(hosts) > 1)


def _host_state(  # noqa: PLR0913, PLR0917 - the fields
    name: str, notes: Mapping[int, Note], n_done: int, n_repeats: int, unfit: str | None, now: datetime
) -> HostState:
    newest = max(notes.values(), key=lambda note: note.seen_at, default=None)
    is_open = newest is not None and newest.state is WorkState.RUNNING
    is_alive = newest is not None and now - datetime.fromisoformat(newest.seen_at) <= LOST_AFTER
    return HostState(
        name=name,
        n_done=n_done,
        n_repeats=n_repeats,
        running=newest.shard if newest and is_open and is_alive else None,
        lost=newest.shard if newest and is_open and not is_alive else None,
        unfit=unfit,
        last_seen=newest.seen_at if newest else None,
        seconds=sum(_seconds_of(note) for note in notes.values()),
    )


def _is_at_work(note: Note, now: datetime) -> bool:
    return note.state is WorkState.RUNNING and now - datetime.fromisoformat(note.seen_at) <= LOST_AFTER


def _seconds_of(note: Note) -> float:
    return (datetime.fromisoformat(note.seen_at) - datetime.fromisoformat(note.started_at)).total_seconds()


def _seconds_left(
    costs: Mapping[str, float], done: frozenset[str], left: Sequence[str] | set[str], hosts: Sequence[HostState]
) -> float | None:
    """Return what is left by what was expected, corrected by what the hosts have taken, shared by those that run."""
    n_running = sum(host.running is not None for host in hosts)
    expected_s, taken_s = sum(costs[key] for key in done), sum(host.seconds for host in hosts)
    if not left or not n_running:
        return None if left else 0.0
    slowness = taken_s / expected_s if done and taken_s else 1.0
    return slowness * sum(costs[key] for key in left) / n_running
