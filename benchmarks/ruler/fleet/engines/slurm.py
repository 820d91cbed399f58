"""Shards as the tasks of a Slurm array, through submitit; `cluster=local` among its parameters needs no Slurm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import submitit
from submitit.core.utils import FailedJobError, UncompletedJobError

from benchmarks.ruler.errors import InvalidSettings
from benchmarks.ruler.fleet.engines import LOST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.ruler.fleet.engines import EngineOptions, Job


def run_jobs(jobs: Sequence[Job], options: EngineOptions, avoid: Sequence[str]) -> dict[int, int]:
    """Submit `jobs` as one array, not on the nodes of `avoid`, and wait for its end; return their exit codes by shard.

    A task that Slurm ended, or whose process was killed, is LOST; an interruption cancels all. Raises: InvalidSettings
    where there is no Slurm.
    """

    # Inside, so that it travels whole: a node need not have our modules on its path.
    def ended(command: tuple[str, ...], cwd: str) -> int:
        import os  # noqa: PLC0415 - on the node
        import subprocess  # noqa: PLC0415 - the same

        return subprocess.run([*command, "--parent", str(os.getpid())], cwd=cwd, check=False).returncode

    parameters = dict(options.parameters)
    cluster = parameters.pop("cluster", "slurm")
    try:
        executor = submitit.AutoExecutor(
            folder=options.logs / "slurm", cluster=cluster, slurm_python=jobs[0].command[0], slurm_max_num_timeout=0
        )
    except RuntimeError as error:
        raise InvalidSettings(f"--engine slurm: {error}; run this where sbatch is, or try --engine local") from error
    executor.update_parameters(
        name="fusebench",
        timeout_min=options.minutes,
        cpus_per_task=options.cpus,
        slurm_array_parallelism=len(jobs),
        slurm_additional_parameters=parameters,
        **({"slurm_gpus_per_node": options.gpus} if options.gpus else {}),
        **({"slurm_exclude": ",".join(avoid)} if avoid else {}),
    )
    with executor.batch():
        submitted = [executor.submit(ended, job.command, job.cwd) for job in jobs]
    try:
        return {job.shard: _code(task) for job, task in zip(jobs, submitted, strict=True)}
    except BaseException:
        for task in submitted:
            task.cancel()
        raise


def _code(task: submitit.Job[int]) -> int:
    try:
        return int(task.result())
    except (FailedJobError, UncompletedJobError):
        return LOST
