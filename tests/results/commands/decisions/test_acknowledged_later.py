"""An acknowledgement is about what is stored when it is made; of what is measured later only where that is said."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import sqlalchemy as sa
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from fusebench import cli
from results.database.schema import Benchmark, Machine, Series, Triage
from results.errors import UnreadableFile
from results.exit_codes import ExitCode
from results.files.decisions import decision_as_toml, decisions_from_bytes, withdraw_acknowledgements
from results.files.records import AcknowledgementRecord, Decided, TriageDecision
from results.store import open_store

A, B = "a" * 40, "b" * 40


@pytest.fixture
def project(tmp_path, write_asv_run, timed):
    """A store of two commits, the second slower; runs commands, and measures more there."""
    db, tree, file = tmp_path / "x.db", tmp_path / "tree", tmp_path / "decisions.toml"

    class Project:
        path = file

        def run(self, *arguments):
            return CliRunner().invoke(cli, [*arguments, "--db", str(db)], standalone_mode=False)

        def acknowledge(self, *options):
            return self.run("store", "acknowledge", B, *options, "--file", str(file))

        def measure(self, *names, machine="laptop"):
            for commit, seconds, date in ((A, 1e-3, 1_700_000_000_000), (B, 2e-3, 1_700_000_100_000)):
                suite = {name: timed(seconds) for name in names}
                write_asv_run(tree, suite, commit=commit, date=date, machine=machine)
            assert self.run("ingest", str(tree), str(file.parent), "--project", "p").return_value == ExitCode.FINE

        def known(self):
            query = sa.select(Benchmark.name, Machine.name).join(Series, Series.benchmark_id == Benchmark.id)
            query = query.join(Machine, Machine.id == Series.machine_id).join(Triage, Triage.series_id == Series.id)
            with open_store(str(db)) as opened, opened.reading() as connection:
                return {tuple(row) for row in connection.execute(query)}

        def gate(self):
            return self.run("gate", "--base", A, "--head", B).return_value

    found = Project()
    found.measure("s.time_it")
    return found


def test_a_benchmark_that_is_measured_at_the_commit_later_is_not_known(project):
    answer = project.acknowledge("--note", "pays for accuracy")
    assert "accepted for 1 series, written to" in answer.stdout
    assert project.gate() == ExitCode.FINE
    project.measure("s.time_it", "s.time_other")
    assert project.known() == {("s.time_it", "laptop")}
    assert project.gate() == ExitCode.REGRESSION


@pytest.mark.parametrize("selection", [(), ("--benchmark", "s.time_it"), ("--metric", "time")])
def test_nor_is_one_of_the_selection_on_another_machine(project, selection):
    project.acknowledge(*selection)
    project.measure("s.time_it", machine="server")
    assert project.known() == {("s.time_it", "laptop")}


def test_everything_is_known_where_that_is_said(project):
    answer = project.acknowledge("--later")
    assert "accepted for 1 series, and any measured there later, written to" in answer.stdout
    project.measure("s.time_it", "s.time_other", machine="server")
    assert project.known() == {("s.time_it", "laptop"), ("s.time_it", "server"), ("s.time_other", "server")}


def test_a_file_that_names_no_series_is_about_all_as_before(project):
    project.path.write_text(f'format = 1\n[[acknowledgement]]\nproject = "p"\ncommit = "{B}"\ndecision = "accepted"\n')
    project.measure("s.time_it", "s.time_other")
    assert len(project.known()) == 2


def test_what_was_acknowledged_is_known_when_it_is_measured_again_and_after_a_rebuild(project):
    project.acknowledge()
    project.measure("s.time_it", "s.time_other")
    tree = str(project.path.parent)
    assert project.run("ingest", "--rebuild", tree, "--project", "p").return_value == ExitCode.FINE
    assert project.known() == {("s.time_it", "laptop")}
    assert "1 acknowledgement removed" in project.acknowledge("--undo").stdout
    assert project.known() == set()


@given(series=st.lists(st.text("0123456789abcdef", min_size=12, max_size=12)).map(tuple))
def test_the_series_that_are_written_are_read_and_taken_out_as_they_were(series):
    record = AcknowledgementRecord(
        project="p", commit=B, decision=TriageDecision.ACCEPTED, benchmark=None, metric=None, machine=None,
        environment=None, parameters={"n": 1}, decided=Decided(note="known", by=None, at=None), series=series,
    )  # fmt: skip
    written = "format = 1\n" + decision_as_toml(record)
    assert decisions_from_bytes(written.encode(), path="x").acknowledgements == (record,)
    with TemporaryDirectory() as folder:
        path = Path(folder, "decisions.toml")
        path.write_text(written + "\n# the last\n")
        assert withdraw_acknowledgements(path, lambda _: True, withdrawn=record.decided) == (record,)
        (withdrawal,) = decisions_from_bytes(path.read_bytes(), path="x").withdrawals
        assert withdrawal.acknowledgement == record
        assert "# the last" in path.read_text()


@pytest.mark.parametrize("series", ["'1c8f03aa90b1'", "['1c8f']", "[3]", "['1C8F03AA90B1']"])
def test_what_is_no_list_of_digests_is_refused(series):
    table = f'[[acknowledgement]]\nproject = "p"\ncommit = "{B}"\ndecision = "accepted"\nseries = {series}\n'
    with pytest.raises(UnreadableFile, match="not a list of digests"):
        decisions_from_bytes(f"format = 1\n{table}".encode(), path="x")
