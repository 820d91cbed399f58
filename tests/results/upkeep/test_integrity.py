"""`store check` finds what is wrong with a database, on SQLite and on PostgreSQL."""

from __future__ import annotations

import re
import sqlite3

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from results.commands.store import store as store_commands
from results.exit_codes import ExitCode
from results.store import open_store
from results.upkeep.integrity import find_faults


@pytest.fixture
def filled(database, tmp_path, journals):
    """The URL of a database of two runs."""
    journals.write_journals(tmp_path, journals.history(2))
    with open_store(database) as opened:
        opened.ingest([tmp_path])
    return database


def tamper(database, *statements):
    """Run statements as somebody who knows the database and not the rules: no reference is enforced."""
    if "://" not in database:
        connection = sqlite3.connect(database, isolation_level=None)
        for statement in statements:
            connection.execute(statement)
        connection.close()
        return
    engine = sa.create_engine(database, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql("SET session_replication_role = replica")
        for statement in statements:
            connection.exec_driver_sql(statement)
    engine.dispose()


def check(database):
    answer = CliRunner().invoke(store_commands, ["check", "--db", database], standalone_mode=False)
    assert answer.exception is None, answer.exception
    return answer.return_value, answer.stdout


def test_a_whole_database_has_no_faults(filled):
    exit_code, output = check(filled)
    assert (exit_code, output.strip().rpartition(": ")[2]) == (ExitCode.FINE, "whole")


DAMAGE = {
    "an orphan": ("DELETE FROM commits", "run: 2 rows refer by commit_id to a missing commits"),
    "an orphan by two columns": (
        "DELETE FROM profile",
        "profile_operator: .* rows refer by run_id, point_id to a missing profile",
    ),
    "lost values": (
        "DELETE FROM value WHERE series_id = (SELECT min(series_id) FROM value)",
        "run .* holds [0-9]+ values and recorded [0-9]+",
    ),
    "all values of a run lost": (
        "DELETE FROM value WHERE run_id = (SELECT min(id) FROM run)",
        "run .* holds 0 values and recorded [0-9]+",
    ),
    "values nobody counted": ("UPDATE run SET n_values = 0", "run .* holds [0-9]+ values and recorded 0"),
    "a second version": (
        "INSERT INTO fusebench_version VALUES ('0001')",
        "fusebench_version holds 0001 and [0-9]+ instead of [0-9]+ alone",
    ),
    "a missing index": ("DROP INDEX ix_run_commit_id", "run: ix_run_commit_id is missing"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_planted_damage_is_found_and_exits_2(filled, what):
    statement, expected = DAMAGE[what]
    tamper(filled, statement)
    exit_code, output = check(filled)
    assert exit_code == ExitCode.FAILED
    assert re.search(expected, output), output
    assert "fusebench ingest --rebuild" in output


def test_a_missing_table_is_named(filled):
    tamper(filled, "DROP TABLE triage")
    assert "table triage is missing" in check(filled)[1]


CONSTRAINTS = {
    "dropped": ("ALTER TABLE value DROP CONSTRAINT fk_value_run_id", "value: fk_value_run_id is missing"),
    "not validated": (
        """ALTER TABLE value DROP CONSTRAINT fk_value_run_id,
        ADD CONSTRAINT fk_value_run_id FOREIGN KEY (run_id) REFERENCES run (id) NOT VALID""",
        "value: constraint fk_value_run_id was not validated",
    ),
    "not enforced": (
        "ALTER TABLE value DISABLE TRIGGER ALL",
        "value: the triggers that enforce its references are disabled",
    ),
}


@pytest.mark.parametrize("what", CONSTRAINTS)
def test_a_constraint_that_postgresql_does_not_enforce_is_a_fault(filled, what):
    if "://" not in filled:
        pytest.skip("SQLite's constraints are part of the table")
    statement, expected = CONSTRAINTS[what]
    tamper(filled, statement)
    with open_store(filled) as opened:
        assert find_faults(opened) == [expected]


def test_an_orphan_behind_a_dropped_constraint_is_found_too(filled):
    if "://" not in filled:
        pytest.skip("SQLite's constraints are part of the table")
    tamper(filled, CONSTRAINTS["dropped"][0], "DELETE FROM run WHERE id = (SELECT max(id) FROM run)")
    with open_store(filled) as opened:
        faults = find_faults(opened)
    assert faults[0] == "value: fk_value_run_id is missing"
    assert any(fault.startswith("value: ") and fault.endswith("to a missing run") for fault in faults)


def test_only_the_first_of_many_wrong_runs_are_named(database, tmp_path, journals):
    journals.write_journals(tmp_path, journals.history(12))
    with open_store(database) as opened:
        opened.ingest([tmp_path])
    tamper(database, "UPDATE run SET n_values = n_values + 1")
    with open_store(database) as opened:
        faults = find_faults(opened)
    assert len(faults) == 11
    assert faults[-1] == "and 2 more runs hold another number of values than they recorded"
