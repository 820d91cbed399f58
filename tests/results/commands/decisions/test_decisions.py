"""What people declare: versions that go on with each other, known changes. The file is the record."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from results.commands.ingest import ingest
from results.commands.store import store
from results.database.schema import Benchmark, Parameter, Series, Triage
from results.errors import StoreError, UnreadableFile
from results.exit_codes import ExitCode
from results.files.decisions import append_decision, decision_as_toml, decisions_from_bytes, withdraw_acknowledgements
from results.files.records import (
    AcknowledgementRecord,
    ContinuationRecord,
    Decided,
    TriageDecision,
    WithdrawalRecord,
)
from results.store import open_store
from results.upkeep.housekeeping import prune_missing_files
from results.upkeep.rebuild import rebuild_store

A, B = "a" * 40, "b" * 40
EVE = Decided(note="it was the code", by="Eve", at=datetime(2026, 3, 2, tzinfo=UTC))
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)
maybe = st.none() | texts
decided = st.builds(
    Decided,
    note=maybe,
    by=maybe,
    at=st.none()
    | st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)).map(  # noqa: DTZ001 - made aware below
        lambda at: at.replace(tzinfo=UTC, microsecond=0)
    ),
)
continuations = st.builds(
    ContinuationRecord, project=texts, benchmark=texts, metric=maybe, old=texts, new=texts, decided=decided
).filter(lambda record: record.old != record.new)
acknowledgements = st.builds(
    AcknowledgementRecord,
    project=texts,
    commit=texts,
    decision=st.sampled_from(TriageDecision),
    benchmark=maybe,
    metric=maybe,
    machine=maybe,
    environment=maybe,
    parameters=st.dictionaries(
        texts, texts | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | st.booleans()
    ),
    decided=decided,
)
withdrawals = st.builds(WithdrawalRecord, acknowledgement=acknowledgements, withdrawn=decided)


@pytest.fixture
def tree(tmp_path, write_asv_run, timed):
    """Commit A in version v1, commit B in version v2, and a grid that keeps its version."""
    for commit, version, date in ((A, "version-1", 1_700_000_000_000), (B, "version-2", 1_700_000_100_000)):
        grid = {"result": [1.0, 2.0, 3.0], "params": [["10", "20", "'x'"]], "version": "g"}
        suite = {"s.time_it": timed(1e-3, version=version), "s.track_grid": grid}
        write_asv_run(tmp_path / "tree", suite, commit=commit, date=date)
    return tmp_path / "tree"


def run(command, *arguments):
    return CliRunner().invoke(command, [str(argument) for argument in arguments], standalone_mode=False)


def versions(opened):
    """The version that each version goes on with."""
    older = sa.orm.aliased(Benchmark)
    query = sa.select(Benchmark.version, older.version).join(older, older.id == Benchmark.continues_id)
    with opened.reading() as connection:
        return {row[0]: row[1] for row in connection.execute(query)}


def acknowledged(opened):
    """The benchmark, first parameter and decision of every known change."""
    query = (
        sa.select(Benchmark.name, Parameter.text, Triage.decision)
        .select_from(Triage)
        .join(Series, Series.id == Triage.series_id)
        .join(Benchmark, Benchmark.id == Series.benchmark_id)
        .outerjoin(Parameter, Parameter.point_id == Series.point_id)
        .order_by(Benchmark.name, Parameter.text)
    )
    with opened.reading() as connection:
        return [tuple(row) for row in connection.execute(query)]


def declared(path, *tables):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("format = 1\n" + "\n".join(tables))
    return path


JOINED = '[[continuation]]\nproject = "p"\nbenchmark = "s.time_it"\nold = "version-1"\nnew = "version-2"\n'
KNOWN = f'[[acknowledgement]]\nproject = "p"\ncommit = "{B}"\ndecision = "accepted"\nbenchmark = "s.time_it"\n'


@given(record=continuations | acknowledgements | withdrawals)
def test_what_is_written_is_read_as_it_was(record):
    found = decisions_from_bytes(f"format = 1\n{decision_as_toml(record)}".encode(), path="x")
    assert [*found.continuations, *found.acknowledgements, *found.withdrawals] == [record]


def test_a_declared_version_goes_on_with_the_old_one_whichever_comes_in_first(opened, tree, tmp_path):
    file = declared(tmp_path / "decisions.toml", JOINED)
    opened.ingest([file])
    assert versions(opened) == {}
    opened.ingest([tree], project="p")
    assert versions(opened) == {"version-2": "version-1"}


def test_a_decision_that_is_taken_out_of_its_file_no_longer_holds(opened, tree, tmp_path):
    file = declared(tmp_path / "decisions.toml", JOINED, KNOWN)
    opened.ingest([tree, file], project="p")
    assert (versions(opened), len(acknowledged(opened))) == ({"version-2": "version-1"}, 1)
    declared(file)
    opened.ingest([file])
    assert (versions(opened), acknowledged(opened)) == ({}, [])


def test_a_decision_whose_file_is_gone_holds_until_it_is_pruned(opened, tree, tmp_path):
    file = declared(tmp_path / "decisions.toml", JOINED, KNOWN)
    opened.ingest([tmp_path], project="p")
    file.unlink()
    opened.ingest([tmp_path], project="p")
    assert versions(opened) == {"version-2": "version-1"}
    prune_missing_files(opened, [tmp_path])
    assert (versions(opened), acknowledged(opened)) == ({}, [])


def test_decisions_settle_without_writing_anything_twice(opened, tree, tmp_path):
    file = declared(tmp_path / "decisions.toml", JOINED, KNOWN)
    opened.ingest([tree, file], project="p")

    def ids():
        with opened.reading() as connection:
            return list(connection.execute(sa.select(Triage.id)).scalars())

    before = ids()
    assert opened.ingest([tree, file], project="p").n_files_unchanged == 4
    assert ids() == before


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("format = 2\n", "decisions format 2"),
        ("not toml", "not TOML"),
        ("format = 1\nstranger = 3\n", "`stranger` is no key of a file"),
        (f"format = 1\n{JOINED}metrics = 'x'\n", "`metrics` is no key of a continuation"),
        (f"format = 1\n{JOINED}{JOINED.replace('version-1', 'version-0')}", "continues two others"),
        (
            "format = 1\n" + JOINED + JOINED.replace("-1", "-3").replace("-2", "-1").replace("-3", "-2"),
            "continue each other in a circle",
        ),
        (f"format = 1\n{JOINED.replace('-2', '-1')}", "cannot continue itself"),
        (f"format = 1\n{KNOWN.replace('accepted', 'liked')}", "not one of accepted, false_alarm, to_fix"),
        (f"format = 1\n{KNOWN}at = 'monday'\n", "not a date and time"),
    ],
)
def test_a_file_that_makes_no_sense_is_set_aside_and_what_it_said_before_holds(opened, tree, tmp_path, text, reason):
    file = declared(tmp_path / "decisions.toml", JOINED)
    opened.ingest([tree, file], project="p")
    file.write_text(text)
    (problem,) = opened.ingest([file]).problems
    assert reason in problem
    assert versions(opened) == {"version-2": "version-1"}


def test_acknowledging_can_name_series_by_parameter(opened, tree, tmp_path):
    grid = KNOWN.replace("s.time_it", "s.track_grid").replace("accepted", "to_fix")
    opened.ingest([tree, declared(tmp_path / "decisions.toml", f"{grid}parameters = {{ param1 = 20.0 }}")], project="p")
    assert acknowledged(opened) == [("s.track_grid", "20", "to_fix")]
    declared(tmp_path / "decisions.toml", f"{grid}parameters = {{ param1 = 'x' }}")
    opened.ingest([tmp_path / "decisions.toml"])
    assert acknowledged(opened) == [("s.track_grid", "x", "to_fix")]


def test_the_later_decision_about_the_same_change_counts(opened, tree, tmp_path):
    everything = KNOWN.replace('benchmark = "s.time_it"\n', "").replace("accepted", "false_alarm")
    opened.ingest([tree, declared(tmp_path / "decisions.toml", everything, KNOWN)], project="p")
    assert acknowledged(opened) == [
        ("s.time_it", None, "accepted"), ("s.track_grid", "10", "false_alarm"), ("s.track_grid", "20", "false_alarm"),
        ("s.track_grid", "x", "false_alarm"),
    ]  # fmt: skip


@pytest.fixture
def filled(tree, tmp_path):
    """A database of the tree, and where its decisions are to be written."""
    db = tmp_path / "x.db"
    run(ingest, tree, "--db", db, "--project", "p")
    return db, tmp_path / "kept" / "decisions.toml"


def test_store_join_writes_the_file_and_survives_a_rebuild(filled, tree):
    db, file = filled
    answer = run(
        store, "join", "s.time_it", "version-1", "version-2", "--note", 'only "renamed"', "--db", db, "--file", file
    )
    assert answer.return_value == ExitCode.FINE
    assert 'note = "only \\"renamed\\""' in file.read_text()
    with open_store(str(db)) as opened:
        assert versions(opened) == {"version-2": "version-1"}
    with pytest.raises(StoreError, match=r"decisions in .* would be lost"):
        rebuild_store(str(db), [tree], project="p", may_lose=False, on_progress=None)
    rebuild_store(str(db), [tree, file.parent], project="p", may_lose=False, on_progress=None)
    with open_store(str(db)) as opened:
        assert versions(opened) == {"version-2": "version-1"}


def test_store_acknowledge_writes_the_file_and_applies_at_once(filled):
    db, file = filled
    arguments = ("--benchmark", "s.track_grid", "--where", "param1=10", "--by", "Ada", "--db", db, "--file", file)
    answer = run(store, "acknowledge", B[:8], "--decision", "false_alarm", *arguments)
    assert "false_alarm for 1 series" in answer.stdout
    with open_store(str(db)) as opened:
        assert acknowledged(opened) == [("s.track_grid", "10", "false_alarm")]
    (record,) = decisions_from_bytes(file.read_bytes(), path="x").acknowledgements
    assert (record.commit, record.decided.by, record.parameters) == (B, "Ada", {"param1": 10})


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("join", "s.time_it", "version-", "version-2"), "the start of 2 versions"),
        (("join", "s.time_it", "v9", "version-2"), "no version of s.time_it; there are version-1, version-2"),
        (("join", "s.nothing", "v1", "v2"), "nothing is stored of benchmark s.nothing"),
        (("join", "s.time_it", "version-2", "version-2"), "the same version"),
        (("acknowledge", B, "--benchmark", "s.nothing"), "no series that was measured"),
        (("acknowledge", B, "--project", "other"), "nothing is stored of commit bbbbbbbb in project other"),
    ],
)
def test_a_declaration_about_nothing_is_wrong_usage_and_writes_nothing(filled, arguments, reason):
    db, file = filled
    answer = run(store, *arguments, "--db", db, "--file", file)
    assert answer.exception.exit_code in {ExitCode.WRONG_USAGE, 2}
    assert reason in answer.exception.message
    assert not file.exists()


@pytest.mark.parametrize(
    "arguments", [("join", "s.time_it", "version-1", "version-2"), ("acknowledge", B, "--benchmark", "s.track_grid")]
)
def test_a_file_that_nothing_reads_decisions_from_is_refused(filled, arguments):
    db, file = filled
    answer = run(store, *arguments, "--db", db, "--file", file.with_name("known.toml"))
    assert "files called decisions.toml alone, not from known.toml; nothing was written" in str(answer.exception)
    assert answer.exception.exit_code == ExitCode.WRONG_USAGE
    assert not file.parent.exists()


def test_appending_never_makes_a_file_that_cannot_be_read(tmp_path):
    file = declared(tmp_path / "decisions.toml", JOINED)
    before = file.read_bytes()
    (joined,) = decisions_from_bytes(before, path="x").continuations
    with pytest.raises(UnreadableFile, match="two others"):
        append_decision(file, replace(joined, old="version-0"))
    assert file.read_bytes() == before


def test_what_was_written_by_hand_stays_when_a_decision_is_added_or_taken_out(tmp_path):
    file = tmp_path / "decisions.toml"
    by_hand = f"# ours\nformat = 1  # the only one\n\n{JOINED}note = 'why'   # in words\n\n{KNOWN}"
    file.write_text(by_hand.rstrip())
    file.chmod(0o640)
    (known,) = decisions_from_bytes(by_hand.encode(), path="x").acknowledgements
    append_decision(file, replace(known, benchmark="s.track_grid", parameters={"we ird": 1.5, "x": "y"}))
    assert file.read_text().startswith(by_hand)
    withdrawn = withdraw_acknowledgements(file, lambda record: record.benchmark == "s.time_it", withdrawn=EVE)
    assert withdrawn == (known,)
    assert file.read_text().startswith(by_hand[: by_hand.index("[[acknowledgement]]")])
    (left,) = decisions_from_bytes(file.read_bytes(), path="x").acknowledgements
    assert (left.benchmark, left.parameters) == ("s.track_grid", {"we ird": 1.5, "x": "y"})
    assert file.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["decisions.toml"]


@pytest.mark.parametrize("end", ["nan", "inf", "-inf"])
def test_a_parameter_that_is_no_finite_number_can_be_named(tmp_path, write_asv_run, end):
    grid = {"result": [1.0, 2.0], "params": [["1.0", end]], "version": "g"}
    write_asv_run(tmp_path / "tree", {"s.time_it": grid}, commit=B)
    db, file = tmp_path / "d.db", tmp_path / "decisions.toml"
    run(ingest, tmp_path / "tree", "--db", db)
    answer = run(store, "acknowledge", B, "--where", f"param1={end}", "--db", db, "--file", file)
    assert "accepted for 1 series" in answer.stdout
    with open_store(str(db)) as opened:
        assert acknowledged(opened) == [("s.time_it", end, "accepted")]
