"""Engines that start shards: this machine, Slurm through submitit, Ray.

Each module has `run_jobs(jobs, options, avoid)`: it starts the jobs, not on the hosts of `avoid` where it can choose,
and returns the exit code of each by its shard. No value travels through an engine: journals are the record.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


LOST = -1
"""Exit code of a shard whose end nobody saw: killed, or its host was lost."""


class EngineName(StrEnum):
    """Engine that starts shards."""

    LOCAL = "local"
    SLURM = "slurm"
    RAY = "ray"


@dataclass(frozen=True, kw_only=True)
class Job:
    """Command that measures a shard, to be started in `cwd` on any host of the fleet's class."""

    shard: int
    command: tuple[str, ...]
    cwd: str


@dataclass(frozen=True, kw_only=True)
class EngineOptions:
    """What an engine needs to know. gpus, cpus: of each shard. slots: shards at a time on this machine.

    logs: folder for what shards print, seen by all hosts. address: of a running Ray cluster, or None to start one.
    parameters: Slurm's own, as in `partition=gpu`, by name. minutes: Slurm's limit of a shard.
    """

    logs: Path
    gpus: int = 0
    cpus: int = 1
    slots: int = 1
    address: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    minutes: int = 24 * 60
