"""Status of a fleet as lines of text."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from benchmarks.ruler.fleet.between_hosts import words_from_differences
from benchmarks.ruler.sweep.progress import text_from_seconds

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.ruler.fleet.status import FleetStatus, HostState

_SHOWN = 5


def status_lines(status: FleetStatus, *, folder: Path) -> list[str]:
    """Return how far the fleet in `folder` is, a line a host, and what to do about what is missing."""
    lines = [_summary(status), *_table(status.hosts)]
    lines += [f"unfit: {host.name}: {host.unfit}" for host in status.hosts if host.unfit]
    lines += [
        f"lost: {host.name} gave no sign since {host.last_seen}, in shard {host.lost}"
        for host in status.hosts
        if host.lost is not None
    ]
    lines += [f"failed: shard {each.shard} on {each.host}: {each.reason}" for each in status.failures[:_SHOWN]]
    lines += [between] if (between := words_from_differences(status.differences)) else []
    for overlap in status.overlaps[:_SHOWN]:
        lines.append(f"measured twice: {overlap.key} by {' and '.join(overlap.hosts)}; each point's later time counts")
    if len(status.overlaps) > _SHOWN:
        lines.append(f"measured twice: {len(status.overlaps) - _SHOWN} more groups")
    if status.missing:
        named = ", ".join(status.missing[:_SHOWN]) + (" …" if len(status.missing) > _SHOWN else "")
        lines.append(f"missing: {named}")
        lines.append(f"next: {_advice(shlex.quote(str(folder)))}")
    return lines


def _advice(folder: str) -> str:
    return (
        f"`fusebench fleet run {folder}` starts what is missing; `fusebench fleet plan --missing {folder} --shards N` "
        "shares it out anew"
    )


def _summary(status: FleetStatus) -> str:
    parts = [f"{len(status.done)} of {status.n_groups} groups done"]
    parts += [f"{len(status.running)} running"] if status.running else []
    parts += [f"{len(status.missing)} missing"] if status.missing else []
    if status.n_repeats:
        parts.append(f"{status.n_repeats_done} of {status.n_repeats} repeated by a second host")
    if status.seconds_left:
        parts.append(f"about {text_from_seconds(status.seconds_left)} left")
    return ", ".join(parts)


def _table(hosts: tuple[HostState, ...]) -> list[str]:
    if not hosts:
        return []
    width = max(len("host"), *(len(host.name) for host in hosts))
    head = f"{'host':<{width}}  groups  repeats  now"
    rows = [f"{host.name:<{width}}  {host.n_done:>6}  {host.n_repeats:>7}  {_now(host)}" for host in hosts]
    return [head, "-" * len(head), *rows]


def _now(host: HostState) -> str:
    if host.unfit:
        return "unfit"
    if host.running is not None:
        return f"shard {host.running}"
    return "lost" if host.lost is not None else "idle"
