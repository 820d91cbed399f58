"""Shards as tasks of a Ray cluster, each with its GPUs; Ray starts again what a killed worker or a lost node leaves."""

from __future__ import annotations

import itertools
import logging
from typing import TYPE_CHECKING

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from benchmarks.ruler.exit_codes import ExitCode
from benchmarks.ruler.fleet.engines import LOST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.ruler.fleet.engines import EngineOptions, Job

_RETRIES = 2


def run_jobs(jobs: Sequence[Job], options: EngineOptions, avoid: Sequence[str]) -> dict[int, int]:
    """Run `jobs` as tasks and return their exit codes by shard; what Ray gives up is LOST.

    A shard whose node was unfit goes to the next node, until there is none left. avoid: hosts to leave out.
    """

    # Inside, so that it travels whole: a node need not have our modules on its path.
    def ended(command: tuple[str, ...], cwd: str) -> tuple[int, str]:
        import os  # noqa: PLC0415 - on the node
        import subprocess  # noqa: PLC0415 - the same

        code = subprocess.run([*command, "--parent", str(os.getpid())], cwd=cwd, check=False).returncode
        if code < 0:
            raise RuntimeError(f"killed by signal {-code}")  # for Ray to start it again
        return code, ray.get_runtime_context().get_node_id()

    if not ray.is_initialized():
        ray.init(address=options.address, logging_level=logging.ERROR)
    task = ray.remote(num_gpus=options.gpus, num_cpus=options.cpus, max_retries=_RETRIES, retry_exceptions=True)(ended)
    codes: dict[int, int] = {}
    left, unfit = list(jobs), _nodes_called(avoid)
    while left:
        nodes = _nodes(unfit, options)
        if unfit and not nodes:
            break
        where = itertools.cycle(nodes) if unfit else itertools.repeat(None)
        running = {
            job.shard: task.options(**_on(node)).remote(job.command, job.cwd)
            for job, node in zip(left, where, strict=False)
        }
        found = {shard: _result(reference) for shard, reference in running.items()}
        codes |= {shard: code for shard, (code, _) in found.items()}
        left = [job for job in left if codes[job.shard] == ExitCode.NOTHING_MEASURED]
        unfit |= {found[job.shard][1] for job in left}
    return codes


def _result(reference: ray.ObjectRef[tuple[int, str]]) -> tuple[int, str]:
    try:
        found: tuple[int, str] = ray.get(reference)
    except ray.exceptions.RayError:
        return LOST, ""
    return found


def _nodes(unfit: set[str], options: EngineOptions) -> list[str]:
    """Return the nodes that can ever start a job: a head without GPUs gives up at once what is sent to it alone."""
    alive = [node for node in ray.nodes() if node["Alive"] and node["NodeID"] not in unfit]
    asked = (("GPU", options.gpus), ("CPU", options.cpus))
    return [node["NodeID"] for node in alive if all(node["Resources"].get(name, 0) >= number for name, number in asked)]


def _nodes_called(names: Sequence[str]) -> set[str]:
    return {node["NodeID"] for node in ray.nodes() if {node["NodeManagerHostname"], node["NodeName"]} & set(names)}


def _on(node: str | None) -> dict[str, NodeAffinitySchedulingStrategy]:
    return {} if node is None else {"scheduling_strategy": NodeAffinitySchedulingStrategy(node, soft=False)}
