"""Shards on this machine, one after another, or one on each GPU if they may share it."""

from __future__ import annotations

import os
import queue
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.ruler.fleet.engines import EngineOptions, Job


def run_jobs(jobs: Sequence[Job], options: EngineOptions, avoid: Sequence[str]) -> dict[int, int]:
    """Run `jobs` as processes of this machine; return their exit codes by shard. avoid: has no other host to go to."""
    del avoid
    slots: queue.SimpleQueue[int] = queue.SimpleQueue()
    for slot in range(options.slots):
        slots.put(slot)

    def run(job: Job) -> int:
        slot = slots.get()
        try:
            return _ended(job, slot, options)
        finally:
            slots.put(slot)

    with ThreadPoolExecutor(max_workers=options.slots) as pool:
        return dict(zip([job.shard for job in jobs], pool.map(run, jobs), strict=True))


def _ended(job: Job, slot: int, options: EngineOptions) -> int:
    options.logs.mkdir(parents=True, exist_ok=True)
    environ = dict(os.environ)
    if options.gpus and options.slots > 1:
        environ["CUDA_VISIBLE_DEVICES"] = str(slot)
    with (options.logs / f"{job.shard:04d}.log").open("ab") as log:
        # Seen on the terminal where shards come one by one, kept in any case.
        out = None if options.slots == 1 else log
        command = [*job.command, "--parent", str(os.getpid())]
        return subprocess.run(command, cwd=job.cwd, env=environ, stdout=out, stderr=out, check=False).returncode
