"""Measure how fast a generated store answers each question of the dashboard and the judgement."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

import sqlalchemy as sa

from results.database.schema import Series
from results.queries import (
    benchmark_names,
    benchmarks,
    commits,
    failures,
    freshness,
    history_of,
    known_changes,
    latest_points,
    parameter_names,
    places,
    point_choices,
    profile_of,
    projects,
    series_where,
    stacks_of,
    throughput_by_batch,
    throughput_by_commit,
    values_at,
)
from results.store import open_store
from results.upkeep.generated import fill_with_sweeps

if TYPE_CHECKING:
    from collections.abc import Callable

    from figures import Figures
    from scratch_databases import Databases

    from results.store import Store

    Question = Callable[[Store, int], object]  # the second: which of the things it may be asked about

N_CALLS = 100
N_CALLS_WITHOUT_AIM = 20
N_ROUNDS = 10


def bench_answers(figures: Figures, column: str, new_database: Databases, *, n_commits: int) -> None:
    """Measure the median of each question on 1,200 series × `n_commits` commits."""
    with new_database() as db, open_store(db) as store:
        fill_with_sweeps(store, n_commits=n_commits)
        with store.reading() as connection:
            ids = list(connection.execute(sa.select(Series.id).order_by(Series.id)).scalars())
        for name, times in asked_in_turns(store, questions_to(store, ids)).items():
            wall, cpu = (statistics.median(column) for column in zip(*times, strict=True))
            figures.add(f"{len(ids)} × {n_commits}: {name}", column, f"{wall * 1e3:.1f} ms (CPU {cpu * 1e3:.1f} ms)")


def questions_to(store: Store, ids: list[int]) -> dict[str, Question]:
    """Return every question by name; the name ends with its aim where there is one."""
    points = latest_points(store)
    shape = {"operation": "mlp", "hidden": 1024}
    return {
        "history of one series (≤ 5 ms)": lambda s, i: history_of(s, series_ids=[ids[i * 37 % len(ids)]]),
        "latest of all (≤ 50 ms)": lambda s, _: latest_points(s),
        "throughput by commit, one shape (≤ 50 ms)": lambda s, _: throughput_by_commit(s, **shape, batch=64),
        "throughput by commit, what its chart shows (≤ 50 ms)": lambda s, _: throughput_by_commit(
            s, metrics=("latency_s", "speedup_vs_eager"), **shape, batch=64
        ),
        "throughput by batch": lambda s, _: throughput_by_batch(s, **shape),
        "every value of a commit": lambda s, i: values_at(s, commit=points[i % len(points)].commit),
        "profile of a point": lambda s, i: profile_of(s, point=points[i % len(points)]),
        "stacks of a point": lambda s, i: stacks_of(s, point=points[i % len(points)]),
        "freshness": lambda s, _: freshness(s),
        "failures": lambda s, _: failures(s),
        "known changes": lambda s, _: known_changes(s),
        "every series": lambda s, _: series_where(s),
        "projects": lambda s, _: projects(s),
        "machines and environments": lambda s, _: places(s),
        "commits": lambda s, _: commits(s),
        "points to choose": lambda s, _: point_choices(s),
        "names of benchmarks": lambda s, _: benchmark_names(s),
        "benchmarks and their parameters": lambda s, _: benchmarks(s),
        "names of parameters": lambda s, _: parameter_names(s),
    }


def asked_in_turns(store: Store, questions: dict[str, Question]) -> dict[str, list[tuple[float, float]]]:
    """Return wall and CPU seconds of many calls of each question, in rounds, so that a slow moment meets them all."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in questions}
    for number in range(N_ROUNDS):
        for name, ask in questions.items():
            n_calls = (N_CALLS if "≤" in name else N_CALLS_WITHOUT_AIM) // N_ROUNDS
            for i in range(-2, n_calls):  # the first open files and prepare statements
                started, used = time.perf_counter(), time.process_time()
                ask(store, number * n_calls + i)
                if i >= 0:
                    times[name].append((time.perf_counter() - started, time.process_time() - used))
    return times
