"""Simulate a large fleet: `make bench-fleet`, printed as the table of docs/fleet.md.

Plans 640,000 groups, writes the journals of eight hosts at three sizes, brings each into PostgreSQL by eight processes,
and asks the questions of the dashboard; what 50 million values take follows by a line through the three sizes.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import linear_regression, median
from typing import TYPE_CHECKING

import sqlalchemy as sa
from scratch_databases import postgresql_databases

from benchmarks.ruler.fleet.shards import Fleet, key_of, planned_shards
from benchmarks.ruler.fleet.sweep_costs import costs_of
from benchmarks.ruler.plan.axes import FULL, QUICK, all_groups
from benchmarks.ruler.plan.points import DeviceKind, Operation
from benchmarks.ruler.plan.units import percent
from benchmarks.ruler.record.lines import Head, ProfileLine, Run, TimingLine, text_from_line
from benchmarks.ruler.record.outcome import KernelRow, OperatorRow, ProfileOutcome, State, TimingOutcome, Visit
from benchmarks.ruler.record.provenance import PROJECT, RULER_VERSION, Commit
from results.database.schema import Value
from results.queries import latest_points, values_at
from results.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.ruler.plan.points import Group

ROOT = Path(__file__).parents[2]
SERVER = os.environ.get("FUSEBENCH_TEST_POSTGRESQL", "postgresql+psycopg://postgres@127.0.0.1:5432/test")
N_HOSTS = 8
AIMED_VALUES, AIMED_COMMITS = 50_000_000, 50
QUESTIONS = ("values at a commit s", "newest points s")
_SAMPLES, _VISITS = 60, 3


def commits(n: int) -> tuple[Commit, ...]:
    """Return `n` made commits, one a day."""
    return tuple(
        Commit(
            hash=f"{i:08x}" + "0" * 32,
            date=f"2026-{1 + i // 28:02}-{1 + i % 28:02}T00:00:00+00:00",
            subject=f"step {i}",
        )
        for i in range(n)
    )


def fleet_of(n_commits: int) -> Fleet:
    """Return a made fleet of H200s."""
    return Fleet(
        name="5eed5eed",
        created_at="2026-01-01T00:00:00+00:00",
        machine="h200-141gib-700w",
        device=DeviceKind.CUDA,
        threads=16,
        axes="made",
        commits=commits(n_commits),
    )


def plan_many(n_groups: int, n_commits: int, n_shards: int) -> str:
    """Plan so many groups and return in words what CPU time it took, and how even the shards are."""
    begun = time.process_time()
    n_batches = -(-n_groups // (len(FULL.passes) * 3 * 40))
    axes = replace(FULL, also=(), batches=tuple(range(1, n_batches + 1)), hiddens=tuple(range(64, 64 * 41, 64)))
    groups = all_groups(axes, operations=tuple(Operation), device=DeviceKind.CUDA)[:n_groups]
    known = {key_of(group.shape): group for group in groups}
    made_s = time.process_time() - begun
    fleet = fleet_of(n_commits)
    costs = costs_of(fleet, axes, known)
    shards = planned_shards(fleet, costs, n_shards=n_shards)
    took_s = time.process_time() - begun
    loads = [sum(costs[key] for key in shard.groups) for shard in shards]
    return (
        f"{len(known):,} groups × {n_commits} commits in {n_shards} shards: {took_s:.1f} s of CPU, {made_s:.1f} s of "
        f"it the groups; longest shard {percent(max(loads) / median(loads) - 1, digits=2)} above the median"
    )


def lines_of(
    fleet: Fleet, commit: Commit, group: Group, host: str, seed: random.Random
) -> Iterator[TimingLine | ProfileLine]:
    """Make a group's lines as a host would have written them."""
    run = Run(
        run_id=fleet.run_id(commit),
        started_at=fleet.created_at,
        project=PROJECT,
        commit=commit.hash,
        commit_date=commit.date,
        commit_subject=commit.subject,
        machine=fleet.machine,
        environment="py3.12-cuda-t16",
        ruler_version=RULER_VERSION,
    )
    conditions = {
        "torch": "2.13.0",
        "device": "NVIDIA H200",
        "host": host,
        "gpu_uuid": f"GPU-{host}",
        "visits_planned": 3,
    }
    for contender in group.contenders:
        head = Head(
            run=run,
            conditions=conditions,
            shape=group.shape,
            contender=contender,
            threads=16,
            measured_at=run.started_at,
        )
        yield _timing(head, seed)
        yield _profile(head)


def _timing(head: Head, seed: random.Random) -> TimingLine:
    latency_s = 1e-5 * seed.uniform(1, 50)
    samples = tuple(float(f"{latency_s * seed.gauss(1, 0.01):.6g}") for _ in range(_SAMPLES))
    visits = tuple(
        Visit(
            measured_at=f"2026-01-01T00:0{i}:00+00:00",
            n_samples=_SAMPLES // _VISITS,
            median_s=latency_s,
            device_time_s=latency_s,
        )
        for i in range(_VISITS)
    )
    outcome = TimingOutcome(
        state=State.OK,
        latency_s=latency_s,
        latency_ci_low_s=0.99 * latency_s,
        latency_ci_high_s=1.01 * latency_s,
        device_time_s=0.9 * latency_s,
        host_time_s=5e-6,
        speedup_vs_eager=1.5,
        error_rel=1e-3,
        visits=visits,
        samples_s=samples,
        calls_per_sample=20,
    )
    return TimingLine(
        head=head, group="0a1b2c3d", outcome=outcome, flop=10**9, min_bytes=10**7, floor_s=0.5 * latency_s
    )


def _profile(head: Head) -> ProfileLine:
    operator = OperatorRow(name="fused_mlp::mlp", count=1.0, self_time_s=1e-5, total_time_s=1e-5, is_compute=True)
    outcome = ProfileOutcome(
        state=State.OK,
        operator_count=1.0,
        kernel_launches=1.0,
        device_time_s=1e-5,
        peak_memory_bytes=10**6,
        operators=(operator,),
        kernels=(KernelRow(name="fused_mlp_kernel", count=1.0, device_time_s=1e-5),),
    )
    return ProfileLine(head=head, outcome=outcome, bound="compute")


def write_hosts(folder: Path, n_groups: int, n_commits: int) -> int:
    """Write the journals of eight hosts, each with an eighth of the groups at every commit; return their bytes."""
    fleet, seed = fleet_of(n_commits), random.Random(1)  # noqa: S311 - made data
    axes = replace(QUICK, batches=tuple(range(1, 1 + -(-n_groups // 12))), hiddens=(256, 512, 1024, 2048))
    groups = all_groups(axes, operations=tuple(Operation), device=DeviceKind.CUDA)[:n_groups]
    n_bytes = 0
    for number in range(N_HOSTS):
        host = f"gpu{number}"
        for commit in fleet.commits:
            path = folder / host / "journal" / fleet.machine / f"{commit.hash[:8]}-py3.12-cuda-t16.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            own = groups[number::N_HOSTS]
            text = "".join(text_from_line(line) for group in own for line in lines_of(fleet, commit, group, host, seed))
            path.write_text(text, encoding="utf-8")
            n_bytes += len(text)
    return n_bytes


def timed(call: Callable[[], object], n: int = 3) -> float:
    """Return the median seconds of a few calls."""
    found = []
    for _ in range(n):
        begun = time.perf_counter()
        call()
        found.append(time.perf_counter() - begun)
    return median(found)


def measured_size(n_groups: int, n_commits: int) -> dict[str, float]:
    """Bring one size into a new PostgreSQL database by eight processes; return what was measured."""
    with tempfile.TemporaryDirectory() as name, postgresql_databases(SERVER)() as db:
        folder = Path(name)
        n_bytes = write_hosts(folder, n_groups, n_commits)
        begun = time.perf_counter()
        command = [sys.executable, str(ROOT / "fusebench.py"), "ingest", "--db", db]
        started = [
            subprocess.Popen([*command, str(host)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            for host in sorted(folder.iterdir())
        ]
        ends = [(each.communicate()[1], each.returncode) for each in started]
        took_s = time.perf_counter() - begun
        if failed := [said for said, code in ends if code]:
            raise SystemExit(f"an ingest failed: {failed[0]}")
        with open_store(db) as store:
            with store.reading() as connection:
                n_values = connection.execute(sa.select(sa.func.count()).select_from(Value)).scalar() or 0
                size = connection.execute(sa.text("select pg_database_size(current_database())")).scalar() or 0
            last = commits(n_commits)[-1].hash
            return {
                "values": n_values,
                "journal bytes": n_bytes,
                "ingest s": took_s,
                "store bytes": size,
                "values at a commit s": timed(lambda: values_at(store, commit=last, metrics=("latency_s",))),
                "newest points s": timed(lambda: latest_points(store)),
            }


def main() -> None:
    """Measure what was asked for, and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, nargs=3, default=(240, 480, 960), help="groups of the three sizes")
    parser.add_argument("--commits", type=int, default=10, help="commits of each")
    chosen = parser.parse_args()
    print(plan_many(10_000, 50, 64))
    print(plan_many(640_000, 1, 64))
    sizes = [measured_size(n_groups, chosen.commits) for n_groups in chosen.groups]
    for size in sizes:
        print(", ".join(f"{name} {value:,.2f}" for name, value in size.items()))
    values = [size["values"] for size in sizes]
    for name in list(sizes[0])[1:]:
        # A question about a commit takes what is stored of that commit.
        is_of_commit, aimed = name in QUESTIONS, AIMED_VALUES
        if is_of_commit:
            aimed = AIMED_VALUES // AIMED_COMMITS
        of = [value / chosen.commits for value in values] if is_of_commit else values
        slope, intercept = linear_regression(of, [size[name] for size in sizes])
        where = f"{aimed:,} values of a commit" if is_of_commit else f"{aimed:,} values"
        print(f"at {where}, {name}: {intercept + slope * aimed:,.0f} (a line through the three)")


if __name__ == "__main__":
    main()
