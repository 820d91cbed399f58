"""A database and journals written at commit 13d2965 still open, show the same points and go on."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from results.commands.ingest import ingest
from results.commands.show import show
from results.exit_codes import ExitCode
from results.queries import history_of, latest_points, series_where
from results.store import OpenMode, open_store
from results.upkeep.housekeeping import store_size
from results.upkeep.integrity import find_faults

MADE = Path(__file__).parents[1] / "made_at_13d2965"
SHOWN_THEN = json.loads((MADE / "show.json").read_text())
# Beyond 110 the ceiling is not valid, and no percentage is shown any more.
for _point in SHOWN_THEN:
    _point["percent_of_floor"] = min(_point["percent_of_floor"], 110.0)
    if _point["percent_of_floor"] == 110.0:
        _point["percent_of_floor"] = None
NEXT_COMMIT = "5" * 40
# Not told of a file by the tables that hold measurements: where it lay, and when it was read.
ABOUT_FILES = {"source", "quarantine"}
DERIVED = {"judged_series", "judged_place"}


@pytest.fixture
def made(tmp_path):
    """The folder that `fusebench run` left then: fusebench.db, and local/ with journals, asv's files and ceilings."""
    with tarfile.open(MADE / "data.tar.xz") as packed:
        packed.extractall(tmp_path / "made", filter="data")
    return tmp_path / "made"


def invoke(command, *arguments):
    answer = CliRunner().invoke(command, [str(argument) for argument in arguments], standalone_mode=False)
    assert answer.exception is None, answer.exception
    return answer


def ingest_into(db, *paths):
    answer = invoke(ingest, *paths, "--db", db)
    assert answer.return_value == ExitCode.FINE, answer.output
    return answer


def shown(db):
    """The points that `show` prints, with the fields that it printed then."""
    now = json.loads(invoke(show, "--db", db, "--format", "json").stdout)
    assert len(now) == len(SHOWN_THEN)
    return [{name: point[name] for name in then} for point, then in zip(now, SHOWN_THEN, strict=True)]


def without_ids(points):
    """Points without the numbers that a database gives them in the order they come."""
    return [{name: value for name, value in point.items() if name != "point_id"} for point in points]


def rows_of(db):
    with open_store(str(db), mode=OpenMode.READ) as store:
        assert find_faults(store) == []
        return {
            table: n_rows for table, n_rows in store_size(store).n_rows.items() if table not in ABOUT_FILES | DERIVED
        }


def next_run(journal, folder):
    """The journal again as that of a later commit, of half the latency."""
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    for line in lines:
        line["run"] |= {
            "run_id": "later",
            "commit": NEXT_COMMIT,
            "commit_date": "2026-11-23T00:00:00+00:00",
            "started_at": "2026-11-23T00:00:00+00:00",
        }
        if line["kind"] == "timing" and line["state"] == "ok":
            for name in ("latency_s", "latency_ci_low_s", "latency_ci_high_s"):
                line[name] /= 2
    path = folder / journal.parent.name / f"{NEXT_COMMIT[:8]}-py3.11-cpu-t2.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def journal(made):
    (path,) = (made / "local" / "journal").rglob("*.jsonl")
    return path


def test_the_old_database_opens_and_shows_the_same_points(made):
    assert shown(made / "fusebench.db") == SHOWN_THEN


def test_the_old_journals_give_the_same_points_in_a_new_database(made, database):
    ingest_into(database, made / "local")
    assert without_ids(shown(database)) == without_ids(SHOWN_THEN)


def test_the_old_database_and_a_new_one_of_its_files_hold_as_many_rows(made, tmp_path):
    ingest_into(tmp_path / "new.db", made / "local")
    assert rows_of(tmp_path / "new.db") == rows_of(made / "fusebench.db")


def test_ingesting_the_old_files_into_the_old_database_adds_nothing(made):
    before = rows_of(made / "fusebench.db")
    for _ in range(2):
        ingest_into(made / "fusebench.db", made / "local")
        assert rows_of(made / "fusebench.db") == before
    assert shown(made / "fusebench.db") == SHOWN_THEN


def test_the_old_database_goes_on_with_the_next_run_of_its_series(made, journal, tmp_path):
    db = made / "fusebench.db"
    before = rows_of(db)
    ingest_into(db, next_run(journal, tmp_path / "journal"))
    after = rows_of(db)
    same = ("series", "point", "benchmark", "machine", "environment", "project", "parameter")
    assert {table: after[table] for table in same} == {table: before[table] for table in same}
    assert after["value"] == 2 * before["value"]
    with open_store(str(db), mode=OpenMode.READ) as store:
        series_ids = [row.series_id for row in series_where(store, metric="latency_s")]
        histories = history_of(store, series_ids=series_ids)
        assert len(histories) == len(SHOWN_THEN)
        for first, second in (history.values for history in histories):
            assert second.value == pytest.approx(first.value / 2)
        assert {point.commit for point in latest_points(store)} == {NEXT_COMMIT}


def test_the_old_database_takes_another_projects_asv_results(made, tmp_path, write_asv_run, timed):
    db = made / "fusebench.db"
    write_asv_run(tmp_path / "theirs", {"s.time_it": timed(1e-3)})
    ingest_into(db, tmp_path / "theirs")
    with open_store(str(db), mode=OpenMode.READ) as store:
        assert [row.benchmark for row in series_where(store, project="theirs")] == ["s.time_it"]
    assert shown(db) == SHOWN_THEN


def test_the_old_database_is_rebuilt_from_its_files(made):
    db = made / "fusebench.db"
    ingest_into(db, made / "local", "--rebuild")
    assert without_ids(shown(db)) == without_ids(SHOWN_THEN)


def test_an_old_database_of_another_machine_is_merged(made, tmp_path):
    from results.upkeep.merge import merge

    shutil.copy(made / "fusebench.db", tmp_path / "other.db")
    with open_store(str(tmp_path / "mine.db")) as mine, open_store(str(tmp_path / "other.db")) as other:
        merge(mine, other)
    assert without_ids(shown(tmp_path / "mine.db")) == without_ids(SHOWN_THEN)
