"""Journals of eight hosts of one run, stored by eight processes at once while somebody reads: nothing lost or twice."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import sqlalchemy as sa

from results.database.schema import Measurement, Value
from results.queries import latest_points
from results.store import OpenMode, open_store

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ROOT = Path(__file__).resolve().parents[3]
N_HOSTS = 8


@pytest.fixture
def hosts(tmp_path, journals):
    """Folders of eight hosts: each has its own batches of the same two runs of one machine."""
    lines = [line for sweep in journals.history(2) for line in journals.lines_of(sweep)]
    for number in range(N_HOSTS):
        for sweep_id in {line["run"]["run_id"] for line in lines}:
            own = []
            for line in (each for each in lines if each["run"]["run_id"] == sweep_id):
                point = {**line["point"], "batch": 1000 * (number + 1) + line["point"]["batch"]}
                own.append({**line, "point": point, "conditions": {**line["conditions"], "host": f"gpu{number}"}})
            path = tmp_path / "hosts" / f"gpu{number}" / "journal" / "m" / f"{sweep_id}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(json.dumps(line) + "\n" for line in own))
    return sorted((tmp_path / "hosts").iterdir())


def content(db):
    """How often each value and measurement is stored, and the hosts of the measurements."""
    with open_store(db, mode=OpenMode.READ) as store, store.reading() as connection:
        values = connection.execute(sa.select(Value.run_id, Value.series_id)).all()
        measured = connection.execute(sa.select(Measurement.run_id, Measurement.point_id, Measurement.conditions)).all()
    return Counter(map(tuple, values)), Counter(row.conditions["host"] for row in measured)


def command(db, *folders):
    return [sys.executable, str(ROOT / "fusebench.py"), "ingest", "--db", db, *map(str, folders)]


def test_nothing_is_lost_and_nothing_twice(hosts, make_database):
    together, in_turn = make_database(), make_database()
    subprocess.run(command(in_turn, *hosts), check=True, capture_output=True)
    expected_values, expected_hosts = content(in_turn)

    # The first makes the tables; the others come while somebody reads.
    subprocess.run(command(together, hosts[0]), check=True, capture_output=True)
    started = [
        subprocess.Popen(command(together, host), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for host in hosts
    ]
    n_seen = []
    with open_store(together, mode=OpenMode.READ) as store:
        while any(process.poll() is None for process in started):
            n_seen.append(len(latest_points(store)))
    for process in started:
        said = process.communicate()[0]
        assert process.returncode == 0, said
    values, of_host = content(together)
    assert len(of_host) == N_HOSTS
    assert of_host == expected_hosts
    assert len(values) == len(expected_values)
    assert max(values.values()) == 1
    assert n_seen == sorted(n_seen), "what was seen went back"
