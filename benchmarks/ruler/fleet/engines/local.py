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
    """Run `jobs` as processes of this machine; return their exit codes by shard. avoid: has no other host to go to.

    An interruption of this process ends what it has started.
    """
    del avoid
    slots: queue.SimpleQueue[int] = queue.SimpleQueue()
    for slot in range(options.slots):
        slots.put(slot)
    running: set[subprocess.Popen[bytes]] = set()

    def run(job: Job) -> int:
        slot = slots.get()
        try:
            with _started(job, slot, options) as process:
                running.add(process)
                code = process.wait()
            running.discard(process)
            return code
        finally:
            slots.put(slot)

    with ThreadPoolExecutor(max_workers=options.slots) as pool:
        found = [pool.submit(run, job) for job in jobs]
        try:
            return {job.shard: each.result() for job, each in zip(jobs, found, strict=True)}
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in tuple(running):
                process.terminate()
            raise


def _started(job: Job, slot: int, options: EngineOptions) -> subprocess.Popen[bytes]:
    environ = dict(os.environ)
    if options.slots > 1:
        visible = [each.strip() for each in environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if each.strip()]
        environ["CUDA_VISIBLE_DEVICES"] = visible[slot % len(visible)] if visible else str(slot)
    command = [*job.command, "--parent", str(os.getpid())]
    if options.slots == 1:
        return subprocess.Popen(command, cwd=job.cwd, env=environ)
    options.logs.mkdir(parents=True, exist_ok=True)
    with (options.logs / f"{job.shard:04d}.log").open("ab") as log:
        return subprocess.Popen(command, cwd=job.cwd, env=environ, stdout=log, stderr=log)
