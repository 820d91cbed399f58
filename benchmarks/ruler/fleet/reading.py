"""State of a fleet read from its folder: plan, records and notes of all hosts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from benchmarks.ruler.fleet.admission import host_file, unfit_hosts
from benchmarks.ruler.fleet.folder import folder_time, hosts_of, read_fleet, read_shards
from benchmarks.ruler.fleet.notes import WorkState, notes_of
from benchmarks.ruler.fleet.recorded import journals_of, record_of_host
from benchmarks.ruler.fleet.status import fleet_status
from benchmarks.ruler.fleet.sweep_costs import axes_of_fleet, costs_of, groups_by_key, groups_of_shard

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.ruler.fleet.notes import Note
    from benchmarks.ruler.fleet.recorded import HostRecord
    from benchmarks.ruler.fleet.shards import Fleet, Shard
    from benchmarks.ruler.fleet.status import FleetStatus
    from benchmarks.ruler.plan.points import Group


@dataclass(frozen=True)
class FleetState:
    """What a fleet's folder holds. unfit: why a host is, with the figures, by host."""

    folder: Path
    fleet: Fleet
    shards: tuple[Shard, ...]
    known: dict[str, Group]
    costs: dict[str, float]
    records: dict[str, HostRecord]
    notes: dict[str, dict[int, Note]]
    unfit: dict[str, str]

    @cached_property
    def _status(self) -> FleetStatus:
        return fleet_status(
            self.fleet,
            self.shards,
            self.known,
            self.costs,
            records=self.records,
            notes=self.notes,
            unfit=self.unfit,
            now=folder_time(self.folder),
        )

    def status(self) -> FleetStatus:
        """Return how far the fleet is."""
        return self._status

    def unfit_nodes(self) -> tuple[str, ...]:
        """Return the machines of the unfit hosts, by their own names, which folders' names are not."""
        files = (host_file(self.folder, host) for host in sorted(self.unfit))
        return tuple(dict.fromkeys(file.host.node for file in files if file is not None))

    def hosts_to_store(self) -> tuple[str, ...]:
        """Return the fit hosts that have a journal."""
        return tuple(host for host in self.records if host not in self.unfit and journals_of(self.folder, host))

    def shards_left(self) -> tuple[Shard, ...]:
        """Return the shards with groups that no fit host has completed, or with repeats that nobody ended."""
        done = self.status().done
        ended = {
            note.shard for notes in self.notes.values() for note in notes.values() if note.state is WorkState.ENDED
        }
        # What was planned anew is its new shard's alone.
        latest = {key: shard.number for shard in self.shards for key in shard.groups}
        left = {number for key, number in latest.items() if key not in done}
        return tuple(
            shard for shard in self.shards if shard.number in left or (shard.repeats and shard.number not in ended)
        )


def state_of(folder: Path) -> FleetState:
    """Read the folder of a fleet. Raises: InvalidShard, JournalError, InvalidAxes, naming the file."""
    fleet, shards = read_fleet(folder), read_shards(folder)
    axes = axes_of_fleet(fleet)
    known = groups_by_key(fleet, axes)
    for shard in shards:
        groups_of_shard(shard, known, (*shard.groups, *shard.repeats))
    hosts = hosts_of(folder)
    return FleetState(
        folder=folder,
        fleet=fleet,
        shards=shards,
        known=known,
        costs=costs_of(fleet, axes, known),
        records={host: record_of_host(folder, host, fleet) for host in hosts},
        notes={host: notes_of(folder, host) for host in hosts},
        unfit=unfit_hosts(folder, tolerance=fleet.tolerance),
    )
