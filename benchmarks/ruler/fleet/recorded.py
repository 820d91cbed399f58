"""What the journals of a fleet's hosts hold: which groups are complete where, read without the samples' meaning."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from benchmarks.ruler.errors import JournalError
from benchmarks.ruler.fleet.folder import host_folder
from benchmarks.ruler.fleet.shards import key_of
from benchmarks.ruler.plan.points import Contender, Shape
from benchmarks.ruler.record.codec import value_from_json
from benchmarks.ruler.record.outcome import State
from benchmarks.ruler.record.provenance import RULER_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from benchmarks.ruler.fleet.shards import Fleet
    from benchmarks.ruler.plan.points import Group


@dataclass(frozen=True, kw_only=True)
class Point:
    """What a journal holds of a contender at a shape in a run. n_visits, latency_s: of a point that is ok."""

    is_ok: bool
    n_visits: int
    latency_s: float | None = None
    is_profiled: bool = False
    is_disturbed: bool = False


@dataclass(kw_only=True)
class HostRecord:
    """What a host has recorded, by run and key of the group, then by contender. last_at: time of the last line."""

    points: dict[tuple[str, str], dict[Contender, Point]] = field(default_factory=dict)
    last_at: str | None = None

    def is_complete(self, run_id: str, key: str, group: Group, *, n_visits: int) -> bool:
        """Return whether every contender of `group` failed, or has had all visits and its profile."""
        known = self.points.get((run_id, key), {})
        return all(
            (point := known.get(contender)) is not None
            and (not point.is_ok or (point.n_visits >= n_visits and point.is_profiled))
            for contender in group.contenders
        )

    def complete(self, fleet: Fleet, known: Mapping[str, Group], *, is_repeat: bool = False) -> frozenset[str]:
        """Return the keys of the groups that are complete at all commits of the fleet."""
        run_ids = [fleet.run_id(commit, is_repeat=is_repeat) for commit in fleet.commits]
        begun = {key for run_id, key in self.points if run_id in run_ids}
        return frozenset(
            key
            for key in begun & known.keys()
            if all(self.is_complete(run_id, key, known[key], n_visits=fleet.visits) for run_id in run_ids)
        )

    def begun(self, fleet: Fleet, *, is_repeat: bool = False) -> frozenset[str]:
        """Return the keys of the groups that have any line in the fleet's runs."""
        run_ids = {fleet.run_id(commit, is_repeat=is_repeat) for commit in fleet.commits}
        return frozenset(key for run_id, key in self.points if run_id in run_ids)


def journals_of(folder: Path, host: str) -> list[Path]:
    """Return the paths of a host's journals."""
    return sorted((host_folder(folder, host) / "journal").glob("*/*.jsonl"))


def record_of_host(folder: Path, host: str, fleet: Fleet) -> HostRecord:
    """Read a host's journals of the fleet's runs. Raises: JournalError, naming the line that is none."""
    record = HostRecord()
    runs = {fleet.run_id(commit, is_repeat=again) for commit in fleet.commits for again in (False, True)}
    for path in journals_of(folder, host):
        for values in _lines(path):
            run = values["run"]
            if run["run_id"] in runs and run["ruler_version"] == RULER_VERSION:
                _take(record, run["run_id"], values)
    return record


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return  # torn, or being written
            try:
                yield json.loads(line)
            except ValueError as error:
                raise JournalError(
                    f"{path}:{number}: not a line of a journal ({error}); copy it from its host again, or move it away"
                ) from error


def _take(record: HostRecord, run_id: str, values: Mapping[str, Any]) -> None:
    point = values["point"]
    shape = value_from_json(Shape, {**point, "pass_": point["pass"]})
    contender = value_from_json(Contender, point)
    of_group = record.points.setdefault((run_id, key_of(shape)), {})
    known = of_group.get(contender)
    if values["kind"] == "timing":
        visits = values.get("visits") or ()
        of_group[contender] = Point(
            is_ok=values["state"] == State.OK,
            n_visits=len(visits),
            latency_s=values.get("latency_s"),
            is_disturbed=values.get("disturbed") is not None,
            is_profiled=known is not None and known.is_profiled,
        )
    elif known is not None:
        of_group[contender] = replace(known, is_profiled=True)
    record.last_at = max(record.last_at or "", values["measured_at"])
