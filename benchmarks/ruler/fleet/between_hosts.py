"""What lies between hosts of a fleet, by the groups that two of them have measured. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from benchmarks.ruler.plan.units import percent, signed_percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from benchmarks.ruler.fleet.recorded import HostRecord, Point
    from benchmarks.ruler.fleet.shards import Fleet
    from benchmarks.ruler.plan.points import Contender


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Latency of a point on host `other`, which repeated its group, over that on `host`, as a ratio."""

    key: str
    contender: Contender
    host: str
    other: str
    ratio: float


def differences(fleet: Fleet, records: Mapping[str, HostRecord]) -> tuple[Difference, ...]:
    """Return the differences of all repeated points, the furthest first. records: of the fit hosts.

    A time that was disturbed is none of its host.
    """
    found = [
        each for host in records for other in records if other != host for each in _of_pair(fleet, records, host, other)
    ]
    return tuple(sorted(found, key=lambda each: -abs(each.ratio - 1)))


def _of_pair(fleet: Fleet, records: Mapping[str, HostRecord], host: str, other: str) -> Iterator[Difference]:
    for commit in fleet.commits:
        first, again = fleet.run_id(commit), fleet.run_id(commit, is_repeat=True)
        for (run_id, key), points in records[other].points.items():
            measured = records[host].points.get((first, key), {}) if run_id == again else {}
            for contender, point in points.items():
                known = measured.get(contender)
                if known and _is_time_of_host(point) and _is_time_of_host(known):
                    ratio = (point.latency_s or 0.0) / (known.latency_s or 1.0)
                    yield Difference(key=key, contender=contender, host=host, other=other, ratio=ratio)


def _is_time_of_host(point: Point) -> bool:
    return point.is_ok and bool(point.latency_s) and not point.is_disturbed


def words_from_differences(found: tuple[Difference, ...]) -> str | None:
    """Return how far apart the hosts are, and where the furthest, in words; None without a repeated point."""
    if not found:
        return None
    usual, most = median(abs(each.ratio - 1) for each in found), found[0]
    return (
        f"between hosts: {percent(usual, digits=1)} in the median of {len(found)} repeated points; "
        f"furthest {signed_percent(most.ratio - 1)}, "
        f"{most.contender} at {most.key} on {most.other} against {most.host}"
    )
