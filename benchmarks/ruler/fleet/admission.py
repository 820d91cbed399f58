"""Admission of a host: whether it is of the class, and measures as the class does. Pure, but for reading the notes."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - the codec reads the annotations
from dataclasses import dataclass
from statistics import median, median_low
from typing import TYPE_CHECKING

from benchmarks.ruler.fleet.folder import host_folder, hosts_of, read_value
from benchmarks.ruler.fleet.host import Host, HostClass
from benchmarks.ruler.plan.units import percent

if TYPE_CHECKING:
    from pathlib import Path

SINGLE = 2.5
"""A ceiling or a single point varies more than the median of all points: its tolerance is so much wider."""
MOST_ODD = 0.25
"""Share of the points that may lie outside of that."""


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What a host took for the points of calibration. times_s: seconds by key. ceilings: rates by name.

    n_disturbed: points that were disturbed each time.
    """

    measured_at: str
    times_s: Mapping[str, float]
    ceilings: Mapping[str, float]
    n_disturbed: int = 0


@dataclass(frozen=True, kw_only=True)
class HostFile:
    """What a host says of itself."""

    host: Host
    calibration: Calibration


def unfit_hosts(folder: Path, *, tolerance: float) -> dict[str, str]:
    """Return the hosts of a fleet's folder that are unfit, each with the figures. Raises: InvalidShard."""
    known = {name: host_file(folder, name) for name in hosts_of(folder)}
    found = {name: file for name, file in known.items() if file is not None}
    kind = read_value(class_path(folder), HostClass, mend="remove it; the next host writes it") or _usual_class(found)
    judged = {name: why_unfit(name, found, kind, tolerance=tolerance) for name in found}
    return {name: reason for name, reason in judged.items() if reason}


def _usual_class(hosts: Mapping[str, HostFile]) -> HostClass | None:
    """Return the class of most hosts, for folders of record that were brought together from hosts without one."""
    kinds = [file.host.kind for file in sorted(hosts.values(), key=lambda file: file.calibration.measured_at)]
    return max(kinds, key=kinds.count, default=None)


def host_path(folder: Path, host: str) -> Path:
    """Return the path of what a host says of itself."""
    return host_folder(folder, host) / "host.json"


def host_file(folder: Path, host: str) -> HostFile | None:
    """Return what a host says of itself; None before it was calibrated. Raises: InvalidShard."""
    mend = "remove it; the host is calibrated again before its next shard"
    return read_value(host_path(folder, host), HostFile, mend=mend)


def class_path(folder: Path) -> Path:
    """Return the path of what the hosts' class is."""
    return folder / "class.json"


def why_unfit(name: str, hosts: Mapping[str, HostFile], kind: HostClass | None, *, tolerance: float) -> str | None:
    """Return in figures why host `name` is none of the class, or measures otherwise than it; None if it is fit.

    The class is known by the median of its hosts' calibrations: of two by the faster one, as no machine is too fast for
    what it is. kind: what a host of the class is; None before the first one.
    """
    own = hosts[name]
    if kind is not None and (difference := own.host.kind.difference(kind)):
        return f"is of another class: {difference}"
    peers = [file.calibration for file in hosts.values() if kind is None or file.host.kind == kind]
    ratios = _ratios(own.calibration.times_s, [peer.times_s for peer in peers])
    deviation = median(ratios.values()) - 1 if ratios else 0.0
    if abs(deviation) > tolerance:
        return (
            f"{_percent(deviation)} {'slower' if deviation > 0 else 'faster'} than the class's median over "
            f"{len(ratios)} points of calibration ({len(peers)} hosts, tolerance {_percent(tolerance)}); "
            f"furthest: {_furthest(ratios)}"
        )
    odd = {key: ratio for key, ratio in ratios.items() if abs(ratio - 1) > SINGLE * tolerance}
    if len(odd) > MOST_ODD * len(ratios):
        return (
            f"{len(odd)} of {len(ratios)} points of calibration lie more than {_percent(SINGLE * tolerance)} from the "
            f"class's median; furthest: {_furthest(odd)}"
        )
    rates = _ratios(own.calibration.ceilings, [peer.ceilings for peer in peers])
    low = {key: ratio for key, ratio in rates.items() if ratio < 1 - SINGLE * tolerance}
    if low:
        return f"its ceiling {_furthest(low)} of the class's median; tolerance {_percent(SINGLE * tolerance)}"
    return None


def _ratios(own: Mapping[str, float], of_class: list[Mapping[str, float]]) -> dict[str, float]:
    return {
        key: value / median_low([each[key] for each in of_class if key in each])
        for key, value in own.items()
        if value > 0
    }


def _furthest(ratios: Mapping[str, float]) -> str:
    key, ratio = max(ratios.items(), key=lambda pair: abs(pair[1] - 1))
    return f"{key} at {percent(ratio)}"


def _percent(share: float) -> str:
    return percent(abs(share), digits=1).replace(".0 %", " %")
