"""Publish a store's values with `asv publish`, without the repository that they are from.

asv asks a repository for the order of the commits, so a scratch one stands for it: as many commits, of the same dates,
under hashes of its own. All benchmarks are described, so that asv's index lists as many as it would; values are
written of those that are to be opened, since asv looks for steps in all that it is given.
"""

from __future__ import annotations

import itertools
import json
import math
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from results.metrics import ASV_LABELS
from results.queries import benchmarks, history_tables

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from results.rows import HistoryTable, ParameterValue
    from results.store import Store

    Description = dict[str, Any]

BRANCH = "main"
UNITS = {"s": "seconds", "B": "bytes"}  # asv scales what it knows by these names


@dataclass(frozen=True)
class Opened:
    """Metric of a benchmark that is to be opened."""

    benchmark: str
    metric: str

    @property
    def name(self) -> str:
        """Return what asv calls it: as the benchmark, unless that has metrics which are not asv's."""
        return self.benchmark if self.metric in ASV_LABELS else f"{self.benchmark}.{self.metric}"


def publish(store: Store, opened: Sequence[Opened], *, project: str, folder: Path) -> Path:
    """Write values of `project` as asv's results, publish them in `folder`, and return the folder of the pages.

    Exits if asv fails.
    """
    tables = {one: history_tables(store, project=project, benchmark=one.benchmark, metric=one.metric) for one in opened}
    dates = {
        run.commit: int(when.timestamp())
        for table in itertools.chain.from_iterable(tables.values())
        for run in table.runs
        if (when := run.commit_date or run.measured_at) is not None
    }
    hashes = _scratch_commits(folder / "repository", dates)
    described = _descriptions(store, project)
    files: dict[tuple[str, str, str], dict[str, list[Any]]] = {}
    for one, found in tables.items():
        names, choices = _parameters(found)
        described[one.name] |= {"param_names": names, "params": choices}
        for table in found:
            for commit, values in _values_by_commit(table, names, choices):
                files.setdefault((table.machine, table.environment, commit), {})[one.name] = [values, choices, "1"]
    _write(folder / "results" / "benchmarks.json", {**described, "version": 2})
    for (machine, environment, commit), values_of in files.items():
        of_machine = folder / "results" / machine
        _write(of_machine / "machine.json", {"machine": machine, "version": 1})
        told = _result_file(machine, environment, commit=hashes[commit], date=dates[commit], values=values_of)
        _write(of_machine / f"{hashes[commit][:8]}-{environment}.json", told)
    return _published(folder, project)


def _scratch_commits(folder: Path, dates: Mapping[str, int]) -> dict[str, str]:
    """Make a repository of one empty commit for each of `dates`; return the hash that each got."""
    ordered = sorted(dates, key=lambda commit: dates[commit])
    stream = "".join(
        f"commit refs/heads/{BRANCH}\ncommitter asv <asv@localhost> {dates[commit]} +0000\n"
        f"data {len(commit)}\n{commit}\n"
        for commit in ordered
    )
    git = ["git", "-C", str(folder)]
    subprocess.run(["git", "init", "-q", "-b", BRANCH, str(folder)], check=True)
    subprocess.run([*git, "fast-import", "--quiet"], input=stream, text=True, check=True)
    listed = subprocess.run(
        [*git, "log", "--format=%s %H", BRANCH], capture_output=True, text=True, check=True
    ).stdout.split()
    return dict(zip(listed[::2], listed[1::2], strict=True))


def _descriptions(store: Store, project: str) -> dict[str, Description]:
    return {
        (name := Opened(row.benchmark, row.metric).name): {
            "name": name,
            "type": "track",
            "unit": UNITS.get(row.unit, row.unit),
            "version": "1",
            "timeout": 60.0,
            "code": "",
            "param_names": [parameter.name for parameter in row.parameters],
            "params": [[repr(value) for value in parameter.values] for parameter in row.parameters],
        }
        for row in benchmarks(store)
        if row.project == project
    }


def _parameters(tables: Sequence[HistoryTable]) -> tuple[list[str], list[list[str]]]:
    """Return the names of the benchmark's parameters and the values of each, without those that others determine.

    asv holds a value for all combinations; of a parameter that follows another, most were never measured.
    """
    given = [
        {one.name: _text(one) for one in series.parameters}
        for series in itertools.chain.from_iterable(table.series for table in tables)
    ]
    values = {name: list(dict.fromkeys(one.get(name, "") for one in given)) for one in given for name in one}
    n_distinct = _n_distinct(given, values)
    for name in reversed(list(values)):
        others = [other for other in values if other != name]
        if len(values[name]) > 1 and _n_distinct(given, others) == n_distinct:
            del values[name]
    return list(values), list(values.values())


def _n_distinct(given: Sequence[Mapping[str, str]], names: Collection[str]) -> int:
    return len({tuple(one.get(name, "") for name in names) for one in given})


def _values_by_commit(
    table: HistoryTable, names: Sequence[str], choices: Sequence[Sequence[str]]
) -> Iterator[tuple[str, list[float | None]]]:
    """Yield each run's commit and its values over all combinations of the parameters, as asv holds them."""
    row_of = {}
    for row, series in enumerate(table.series):
        given = {one.name: _text(one) for one in series.parameters}
        row_of[tuple(given.get(name, "") for name in names)] = row
    rows = [row_of.get(combination) for combination in itertools.product(*choices)]
    for column, run in enumerate(table.runs):
        values = [None if row is None else float(table.values[row, column]) for row in rows]
        yield run.commit, [None if value is None or math.isnan(value) else value for value in values]


def _text(parameter: ParameterValue) -> str:
    return repr(parameter.value)


def _result_file(
    machine: str, environment: str, *, commit: str, date: int, values: Mapping[str, object]
) -> Mapping[str, object]:
    return {
        "commit_hash": commit,
        "env_name": environment,
        "date": date * 1000,
        "params": {"machine": machine, "environment": environment},
        "python": "",
        "requirements": {},
        "env_vars": {},
        "result_columns": ["result", "params", "version"],
        "results": values,
        "durations": {},
        "version": 2,
    }


def _published(folder: Path, project: str) -> Path:
    pages = folder / "html"
    settings = {"version": 1, "project": project, "repo": str(folder / "repository"), "branches": [BRANCH],
                "results_dir": str(folder / "results"), "html_dir": str(pages)}  # fmt: skip
    _write(folder / "asv.conf.json", settings)
    done = subprocess.run(
        [sys.executable, "-m", "asv", "publish", "--no-pull"], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"asv publish failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return pages


def _write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
