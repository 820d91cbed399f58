"""What ruler 3 writes comes back: each visit, what differs between them, and the numbers that are new."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from results.database.schema import Measurement
from results.queries import history_of, latest_points, profile_of, series_where, values_at, visits_of
from results.rows import VisitRow

A = "a" * 40


@pytest.fixture
def visited(journals):
    """A sweep of one group: what its ruler has written after `n` visits."""

    def sweep(n):
        return journals.Sweep(
            commit=A, operations=("mlp",), batches=(64,), hiddens=(256,), ruler_version="3", n_visits=n,
            n_samples=10 * n,
        )  # fmt: skip

    return sweep


def test_what_the_new_ruler_measured_is_in_every_row(opened, tmp_path, journals, visited):
    journals.write_journals(tmp_path, [visited(3)])
    assert opened.ingest([tmp_path]).problems == ()
    for point in latest_points(opened):
        assert point.visit_count == 3
        assert point.latency_between_sd_s == pytest.approx(point.latency_s * 0.005)
        assert point.speedup_between_sd == pytest.approx(point.speedup_vs_eager * 0.004)
        assert (point.minor_faults_per_call, point.recompile_time_s, point.time_to_first_call_s) == (2.5, 1.1, 7.5)
        assert point.overhead_s == pytest.approx(point.latency_s * 0.2)
        assert point.bound_detail == "a fifth of the time is outside operators"
        profile = profile_of(opened, point=point)
        assert (profile.overhead_s, profile.bound_detail) == (point.overhead_s, point.bound_detail)
        assert profile.overhead_in == "aten::t"
        assert point.allocated_bytes == profile.allocated_bytes == 8 * 64 * 256
        assert (point.operators_min_bytes, point.gap_count, point.device_busy_s) == (None, None, None)
        assert profile.missing["operators_min_bytes"] == "aten::t: no rule"
        first = datetime(2026, 1, 5, 13, tzinfo=UTC)
        assert visits_of(opened, point=point) == tuple(
            VisitRow(
                measured_at=first + timedelta(minutes=i), n_samples=10, median_s=point.latency_s,
                speedup_vs_eager=point.speedup_vs_eager, machine_speed=0.99, disturbed=None,
                device_time_s=None, host_time_s=None,
            )
            for i in range(3)
        )  # fmt: skip


@pytest.mark.parametrize(
    ("disturbed", "of_visits", "counted"),
    [
        (None, [None, None, None], [1.0, 1.0, 2.0, 9.0, 9.0]),
        (None, [None, None, "a neighbour"], [1.0, 1.0, 2.0]),
        ("a neighbour", [None, "a neighbour", "a neighbour"], [1.0, 1.0, 2.0, 9.0, 9.0]),
    ],
)
def test_the_stored_samples_are_those_that_the_value_is_from(
    opened, tmp_path, journals, visited, disturbed, of_visits, counted
):
    """The ruler leaves disturbed visits out where enough others are; the gate's test of samples must not see them."""
    line = journals.lines_of(visited(3))[0] | {"samples_s": [1.0, 1.0, 2.0, 9.0, 9.0], "disturbed": disturbed}
    for visit, n_samples, of_visit in zip(line["visits"], (2, 1, 2), of_visits, strict=True):
        visit |= {"n_samples": n_samples, "disturbed": of_visit}
    (tmp_path / "mlp.jsonl").write_text(json.dumps(line) + "\n")
    opened.ingest([tmp_path])
    (value,) = (row for row in values_at(opened, commit=A) if row.metric == "latency_s")
    assert (list(value.samples), value.sample_count) == (counted, len(counted))


SLOW = "the machine ran at {} % of its best (one core's arithmetic)"
WAITED = "other processes used {} cores while this was measured, which waited for a processor {} % of the time"
THROTTLED = "the GPU was throttled by its temperature ({} MHz, 83 °C, 300 W)"


@pytest.mark.parametrize(
    ("causes", "told"),
    [
        ([SLOW.format(share) for share in (89, 74, 100)], SLOW.format(74)),
        ([WAITED.format("0.8", 35), WAITED.format("1.4", 9), WAITED.format("1.4", 12)], WAITED.format("1.4", 12)),
        ([THROTTLED.format(1400), THROTTLED.format(990)], THROTTLED.format(990)),
        (
            [SLOW.format(60), WAITED.format("1.0", 20), SLOW.format(58)],
            f"{SLOW.format(58)}; {WAITED.format('1.0', 20)}",
        ),
        (["someone compiled"], "someone compiled"),
        pytest.param(
            ["the machine ran at 89% of its best (memory)", "the machine ran at 74 % of its best (memory)"],
            "the machine ran at 74 % of its best (memory)",
            id="written as older journals have it",
        ),
    ],
)
def test_of_causes_that_differ_in_numbers_alone_the_worst_is_told_wherever_one_looks(
    opened, tmp_path, journals, visited, causes, told
):
    line = journals.lines_of(visited(1))[0] | {"disturbed": "; ".join(causes)}
    line["visits"][0]["disturbed"] = "; ".join(causes)
    (tmp_path / "mlp.jsonl").write_text(json.dumps(line) + "\n")
    opened.ingest([tmp_path])
    (point,) = latest_points(opened)
    (value,) = (row for row in values_at(opened, commit=A) if row.metric == "latency_s")
    (visit,) = visits_of(opened, point=point)
    assert (point.disturbed, value.reason, visit.disturbed) == (told, told, told)


@pytest.mark.parametrize("words", ["", "; "])
def test_a_disturbance_without_a_word_is_none(opened, tmp_path, journals, visited, words):
    [timing, *_] = [line for line in journals.lines_of(visited(2)) if line["kind"] == "timing"]
    for told in (timing, *timing["visits"]):
        told["disturbed"] = words
    (tmp_path / "journal").mkdir()
    (tmp_path / "journal" / "foreign.jsonl").write_text(json.dumps(timing) + "\n")
    assert opened.ingest([tmp_path]).problems == ()
    [point] = latest_points(opened)
    assert point.disturbed is None
    assert [visit.disturbed for visit in visits_of(opened, point=point)] == [None, None]


def test_what_failed_at_a_later_visit_has_no_value_and_its_earlier_visits_are_listed(
    opened, tmp_path, journals, visited
):
    line = journals.lines_of(visited(2))[0]
    kept = {name: line[name] for name in ("visits", "samples_s")}
    failed = {name: None for name in line if name.startswith(("latency", "speedup"))}
    line |= {**failed, **kept, "state": "crashed", "reason": "it raised (visit 3 of the group)"}
    (tmp_path / "mlp.jsonl").write_text(json.dumps(line) + "\n")
    assert opened.ingest([tmp_path]).problems == ()
    (point,) = latest_points(opened)
    (value,) = (row for row in values_at(opened, commit=A) if row.metric == "latency_s")
    assert (point.state, point.latency_s, point.sample_count) == ("crashed", None, None)
    assert (value.value, value.q25, value.samples, value.reason) == (
        None,
        None,
        None,
        "it raised (visit 3 of the group)",
    )
    assert [visit.n_samples for visit in visits_of(opened, point=point)] == [10, 10]


def test_an_older_rulers_points_have_no_visits(opened, tmp_path, journals):
    journals.write_journals(tmp_path, [journals.Sweep(commit=A, operations=("mlp",))])
    opened.ingest([tmp_path])
    for point in latest_points(opened):
        assert (point.visit_count, point.latency_between_sd_s, point.overhead_s, point.bound_detail) == (None,) * 4
        assert visits_of(opened, point=point) == ()
    with opened.reading() as connection:  # null, not JSON's null
        n_null = sa.select(sa.func.count()).where(Measurement.visits.is_(None))
        assert connection.execute(n_null).scalar() == 12


def test_each_visit_replaces_the_line_of_the_ones_before(opened, tmp_path, journals, visited):
    """Ingested after the first visit or only at the end: one value, of all samples."""
    for n in (1, 2, 3):
        sweep = visited(n)
        lines = journals.lines_of(sweep)
        for line in lines:
            line["measured_at"] = f"2026-01-05T14:0{n}:00+00:00"
        path = tmp_path / "mlp.jsonl"
        with path.open("a") as journal:
            journal.writelines(json.dumps(line) + "\n" for line in lines)
        report = opened.ingest([tmp_path])
        assert report.problems == ()
        assert {point.visit_count for point in latest_points(opened)} == {n}
        values = [row for row in values_at(opened, commit=A) if row.metric == "latency_s"]
        assert {row.sample_count for row in values} == {10 * n}
        ids = [row.series_id for row in series_where(opened, metric="latency_s")]
        assert all(len(history.values) == 1 for history in history_of(opened, series_ids=ids))


def test_visits_survive_a_merge_and_merging_again_finds_no_contradiction(make_database, tmp_path, journals, visited):
    from results.store import open_store
    from results.upkeep.merge import merge

    journals.write_journals(tmp_path, [visited(3), replace(visited(3), commit="b" * 40, n_visits=0)])
    with open_store(make_database()) as mine, open_store(make_database()) as other:
        other.ingest([tmp_path])
        assert merge(mine, other).n_runs_added == 2
        again = merge(mine, other)
        assert (again.conflicts, again.n_values) == ((), 0)
        assert len(visits_of(mine, point=latest_points(mine, revision=A)[0])) == 3
        assert visits_of(mine, point=latest_points(mine, revision="b" * 40)[0]) == ()


@pytest.mark.parametrize(
    ("visit", "problem"),
    [({"n_samples": -1}, "n_samples"), ({"median_s": "fast"}, "median_s"), (7, "object"), ({"machine_speed": 1}, None)],
)
def test_an_odd_visit_is_named_by_line_and_key(opened, tmp_path, journals, visited, visit, problem):
    line = journals.lines_of(visited(1))[0] | {"visits": [visit]}
    (tmp_path / "mlp.jsonl").write_text(json.dumps(line) + "\n")
    problems = opened.ingest([tmp_path]).problems
    if problem is None:
        assert problems == ()
    else:
        assert "line 1" in str(problems)
        assert problem in str(problems)
