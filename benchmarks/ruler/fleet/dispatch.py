"""Dispatch of a fleet's shards to an engine, again and again until every group is measured or nothing more helps."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from benchmarks.ruler.errors import InvalidSettings
from benchmarks.ruler.exit_codes import ExitCode
from benchmarks.ruler.fleet.engines import EngineName, Job
from benchmarks.ruler.fleet.folder import shard_path
from benchmarks.ruler.plan.settings import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from benchmarks.ruler.fleet.engines import EngineOptions
    from benchmarks.ruler.fleet.shards import Shard
    from benchmarks.ruler.fleet.status import FleetStatus

    Start = Callable[[Sequence[Job], EngineOptions, Sequence[str]], dict[int, int]]

# Module and extra of each engine; imported when it is asked for.
_ENGINES = {
    EngineName.LOCAL: ("benchmarks.ruler.fleet.engines.local", "bench"),
    EngineName.SLURM: ("benchmarks.ruler.fleet.engines.slurm", "fleet-slurm"),
    EngineName.RAY: ("benchmarks.ruler.fleet.engines.ray_cluster", "fleet-ray"),
}


def engine(name: EngineName) -> Start:
    """Return the function that starts jobs with the engine `name`. Raises: InvalidSettings if it is not installed."""
    module, extra = _ENGINES[name]
    try:
        start: Start = importlib.import_module(module).run_jobs
    except ModuleNotFoundError as error:
        raise InvalidSettings(
            f"--engine {name}: {error.name} is not installed here; pip install 'fusebench[{extra}]'"
        ) from error
    return start


def job_of(shard: Shard, folder: Path, *, python: str = sys.executable, options: Sequence[str] = ()) -> Job:
    """Return the job that measures `shard` of the fleet in `folder`, which all its hosts see."""
    command = (python, "-m", "benchmarks.ruler.fleet.command", "work", str(shard_path(folder, shard)), *options)
    return Job(shard=shard.number, command=command, cwd=str(ROOT))


def dispatched(  # noqa: PLR0913 - the engine, and what it is asked
    start: Start,
    options: EngineOptions,
    *,
    jobs: Callable[[], Sequence[Job]],
    avoid: Callable[[], Sequence[str]],
    attempts: int,
    say: Callable[[str], None],
) -> dict[int, int]:
    """Start the jobs that are left until none is, at most `attempts` times; return the last exit code of each shard.

    jobs: those of shards with groups that no fit host has completed, asked anew before each attempt: a point that
    failed is measured, and what a host had measured that was found unfit is not. avoid: hosts found unfit meanwhile.
    """
    codes: dict[int, int] = {}
    for attempt in range(1, attempts + 1):
        left = list(jobs())
        if not left:
            break
        if attempt > 1:
            names = ", ".join(f"{job.shard} ({_ending(codes.get(job.shard))})" for job in left)
            say(f"attempt {attempt} of {attempts}: shard {names}")
        codes |= start(left, options, avoid())
    return codes


def _ending(code: int | None) -> str:
    return "not started: no host left for it" if code is None else f"ended with {code}"


def exit_code(status: FleetStatus, codes: Mapping[int, int]) -> ExitCode:
    """Return how a fleet's run ends: fine if every group is measured and no shard told of a point that failed.

    A worker that was killed a moment ago still looks as if it ran: what is not done is not measured.
    """
    if not status.done:
        return ExitCode.NOTHING_MEASURED
    is_fine = len(status.done) == status.n_groups and ExitCode.FAILED not in codes.values()
    return ExitCode.FINE if is_fine else ExitCode.FAILED
