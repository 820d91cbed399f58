"""Points of a surface that are certain together, none of them alone: found, told in every format, acknowledged."""

from __future__ import annotations

import json
import math
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import numpy as np
import pytest
from scipy.stats import t

from results.exit_codes import ExitCode
from results.judgement.bisection.target import Kind, target_of
from results.judgement.commit_findings import findings_of
from results.judgement.comparison.processes import Pair, Process
from results.judgement.comparison.surfaces import LEAST_POINTS, LEAST_ROUNDS, compare_surfaces
from results.judgement.exact_only import exact_only
from results.judgement.findings import FindingState, Turn
from results.judgement.known_levels import in_question, with_known
from results.judgement.outcomes import Outcome
from results.judgement.verdicts import exit_code, judge
from results.output.report import ReportFormat, rendered
from results.rows import HistoryValue, KnownChange, KnownLevel
from tests.made_values import A, B, row

SCHEMA = Path(__file__).resolve().parents[3] / "docs" / "findings.schema.json"
Q = 0.05 / 3
N_POINTS = 24


def judged(factor=1.06, *, noise=0.06, seed=20, n_points=N_POINTS, metric="latency_s", is_paired=True, n_rounds=5):
    """Judge a surface of fused, slower by `factor` at the head, beside one of fused-pure, with eager at each shape."""
    rng = np.random.default_rng(seed)

    def side(commit):
        return [
            row(
                (factor if provider == "fused" and commit == B else 1.0) * rng.normal(1, noise, n_rounds),
                commit=commit,
                provider=provider,
                batch=batch,
                metric=metric,
            )
            for batch in range(n_points)
            for provider in ("eager", "fused", "fused-pure")
        ]

    return judge(side(A), side(B), base_commit=A, head_commit=B, is_paired=is_paired, least_change=0.03, q=Q)


def surface(changes, *, name="s", testbed="t", n_points=10, noise=0.0, skipped=(), seed=0):
    """Pairs whose log ratio is `changes` by round; `skipped`: (point, round) that something disturbed."""
    rng = np.random.default_rng(seed)
    return [
        Pair(
            (name, point),
            testbed,
            name,
            tuple(Process("r", i, 0.0) for i in range(len(changes))),
            tuple(
                Process("r", i, change + rng.normal(0, noise), is_disturbed=(point, i) in skipped, is_head=True)
                for i, change in enumerate(changes)
            ),
        )
        for point in range(n_points)
    ]


def test_what_no_point_shows_all_of_them_do():
    found = judged()
    assert {one.outcome for one in found.verdicts} <= {Outcome.UNCHANGED, Outcome.UNDECIDED}
    [worse] = found.together(Outcome.REGRESSION)
    assert {dict(one.parameters)["provider"] for one in worse.rows} == {"fused"}
    assert len(worse.rows) == N_POINTS
    low, high = worse.evidence.interval
    assert 1 < low < worse.evidence.ratio < high
    assert worse.evidence.ratio == pytest.approx(1.06, abs=0.03)
    assert exit_code(found) is ExitCode.REGRESSION
    [finding] = findings_of(found)
    assert (finding.turn, finding.state, finding.points, finding.n_points) == (
        Turn.SLOWER,
        FindingState.CONFIRMED,
        (),
        N_POINTS,
    )
    assert finding.why.startswith("all 24 points together: +")
    assert finding.why.endswith(", by 5 rounds; none alone is certain")


def test_the_better_is_found_as_the_worse_is():
    found = judged(1 / 1.06)
    assert not found.together(Outcome.REGRESSION)
    assert len(found.together(Outcome.IMPROVEMENT)) == 1
    assert [one.turn for one in findings_of(found)] == [Turn.FASTER]
    assert exit_code(found) is not ExitCode.REGRESSION


def test_what_a_point_shows_alone_is_told_once():
    found = judged(1.5, noise=0.01)
    assert [one.outcome for one in found.surfaces].count(Outcome.REGRESSION) == 1
    assert found.together(Outcome.REGRESSION) == []
    [finding] = findings_of(found)
    assert len(finding.points) == N_POINTS


def test_stored_runs_and_exact_metrics_have_no_surfaces():
    assert judged(is_paired=False).surfaces == ()
    assert exact_only(judged()).surfaces == ()


@pytest.mark.parametrize("seed", range(20))
def test_equal_commits_have_none(seed):
    assert not [one for one in judged(1.0, seed=seed).surfaces if one.outcome is not Outcome.UNCHANGED]


def test_a_change_that_is_not_relevant_is_none():
    found = judged(1.02, noise=0.002)
    assert [one.evidence.is_significant for one in found.surfaces] == [True, False]
    assert {one.outcome for one in found.surfaces} == {Outcome.UNCHANGED}


def test_nothing_is_said_while_eager_moved():
    rng = np.random.default_rng(1)

    def side(commit):
        return [
            row(
                (1.2 if provider == "eager" and commit == B else 1.0) * rng.normal(1, 0.01, 5),
                commit=commit,
                provider=provider,
                batch=batch,
            )
            for batch in range(8)
            for provider in ("eager", "fused")
        ]

    found = judge(side(A), side(B), base_commit=A, head_commit=B, is_paired=True, least_change=0.03)
    assert found.is_control_moved
    assert [(one.evidence.is_significant, one.outcome) for one in found.surfaces] == [(True, Outcome.UNCHANGED)]


def test_the_interval_is_that_of_the_mean_by_round():
    changes = [0.04, 0.06, 0.05, 0.07, 0.03]
    [found] = compare_surfaces(surface(changes), q=Q)
    se = np.std(changes, ddof=1) / math.sqrt(5)
    half = t.ppf(0.975, 4) * se
    assert found.ratio == pytest.approx(math.exp(0.05))
    assert found.interval == pytest.approx((math.exp(0.05 - half), math.exp(0.05 + half)), rel=1e-6)
    assert (found.n_rounds, len(found.names), found.is_significant) == (5, 10, True)
    assert found.floor == pytest.approx(math.expm1((t.ppf(1 - Q / 4, 4) + t.ppf(0.8, 4)) * se))


def test_few_points_or_rounds_are_no_surface():
    changes = [0.05, 0.06, 0.04]
    assert len(changes) == LEAST_ROUNDS
    assert len(compare_surfaces(surface(changes, n_points=LEAST_POINTS), q=Q)) == 1
    assert compare_surfaces(surface(changes, n_points=LEAST_POINTS - 1), q=Q) == []
    assert compare_surfaces(surface(changes[:-1]), q=Q) == []
    assert compare_surfaces([], q=Q) == []


def test_a_round_counts_that_half_of_the_points_know():
    changes = [0.05, 0.06, 0.04, 0.9]
    half = [(point, 3) for point in range(5)]
    assert compare_surfaces(surface(changes, skipped=half), q=Q)[0].n_rounds == 4
    assert compare_surfaces(surface(changes, skipped=[*half, (5, 3)]), q=Q)[0].n_rounds == 3
    nowhere = [(0, i) for i in range(4)]
    assert len(compare_surfaces(surface(changes, skipped=nowhere), q=Q)[0].names) == 9


def test_of_many_surfaces_the_spread_of_all_counts():
    """One of them agrees by chance: it is held against what is usual, unless there are few or it is elsewhere."""
    rng = np.random.default_rng(0)
    calm = surface([0.030, 0.040, 0.022, 0.033, 0.026])
    others = [pair for i in range(11) for pair in surface(rng.normal(0, 0.03, 5), name=f"other-{i}")]
    assert not compare_surfaces([*calm, *others], q=Q)[0].is_significant
    assert compare_surfaces([*calm, *others[:50]], q=Q)[0].is_significant
    assert compare_surfaces([*[one._replace(testbed="u") for one in calm], *others], q=Q)[0].is_significant


def test_false_ones_are_few():
    """Of 400 comparisons of 12 equal surfaces, at a rate of a half of 5 %, at most 5 % have any."""
    rng = np.random.default_rng(7)
    n_false = 0
    for _ in range(400):
        pairs = [pair for i in range(12) for pair in surface(rng.normal(0, 0.03, 5), name=i, n_points=3)]
        n_false += any(one.is_significant for one in compare_surfaces(pairs, q=0.05))
    assert 0 < n_false <= 20


class TestReports:
    def told(self, report_format, **options):
        return rendered(judged(**options), report_format=report_format)

    def test_text_has_it_first_among_the_regressions(self):
        lines = self.told(ReportFormat.TEXT).splitlines()
        assert lines[0].endswith("; 1 surface worse as a whole")
        start = lines.index("Regressions:")
        assert lines[start + 3].startswith("mlp latency_s  provider=fused ")
        assert "all 24 points together" in lines[start + 3]
        assert any(line.startswith("One that all points of a surface share is invisible under ") for line in lines)

    def test_markdown_opens_with_it(self):
        told = self.told(ReportFormat.MARKDOWN)
        assert told.index("all 24 points together") < told.index("<details>")

    def test_json_counts_each_surface(self):
        told = json.loads(self.told(ReportFormat.JSON))
        jsonschema.validate(told, json.loads(SCHEMA.read_text(encoding="utf-8")))
        assert [one["outcome"] for one in told["surfaces"]] == ["regression", "unchanged"]
        first = told["surfaces"][0]
        assert (first["points"], first["rounds"], first["parameters"]["provider"]) == (24, 5, "fused")
        assert first["interval"][0] < first["ratio"] < first["interval"][1]
        assert (told["exit_code"], len(told["findings"])) == (int(ExitCode.REGRESSION), 1)

    def test_junit_has_a_failure(self):
        suite = ET.fromstring(self.told(ReportFormat.JUNIT))  # noqa: S314 - our own
        failed = [case for case in suite.iter("testcase") if case.find("failure") is not None]
        assert [case.get("name") for case in failed] == ["mlp latency_s[pass=forward, provider=fused]"]
        assert (suite.get("failures"), int(suite.get("tests"))) == ("1", len(list(suite.iter("testcase"))))

    def test_github_has_an_error(self):
        told = self.told(ReportFormat.GITHUB)
        assert told.startswith("::error title=mlp latency_s")
        assert "all 24 points together" in told

    def test_without_any_nothing_is_said_of_them(self):
        assert "as a whole" not in self.told(ReportFormat.TEXT, factor=1.0)
        assert "<testcase" in self.told(ReportFormat.JUNIT, factor=1.0)
        assert "<failure" not in self.told(ReportFormat.JUNIT, factor=1.0)


def test_a_bisection_follows_all_its_points():
    found = target_of(judged())
    assert (found.kind, found.is_worse, found.provider, len(found.series)) == (Kind.TIME, True, "fused", N_POINTS)
    assert found.change == pytest.approx(math.log(1.06), abs=0.03)
    assert target_of(judged(), metric="cold_latency_s") is None
    assert target_of(judged(1 / 1.06)).is_worse is False
    assert target_of(judged(1.0)) is None


def test_a_part_without_some_of_its_points_says_nothing_of_it():
    found = judged()
    [worse] = found.together(Outcome.REGRESSION)
    ids = {one.series_id for one in worse.rows}
    assert found.only(ids).together(Outcome.REGRESSION) == [worse]
    assert found.only(ids - {worse.rows[0].series_id}).surfaces == ()


def known(rows, *, at, later=(), value=None):
    """Levels of series whose change was acknowledged at a commit where they took `at`."""

    def history_value(one):
        return HistoryValue(**dict.fromkeys(HistoryValue._fields) | {"value": one, "state": "ok"})

    return [
        KnownLevel(
            change=KnownChange(
                series_id=each.series_id, point_id=0, project="p", machine="m", environment="e", benchmark="mlp",
                metric="latency_s", parameters=each.parameters, commit="c" * 40, commit_date=None,
                decision="accepted", note="for accuracy", decided_by=None, decided_at=None,
            ),
            value=None if at is None else history_value(at),
            later=tuple(map(history_value, later)),
        )
        for each in rows
    ]  # fmt: skip


class TestAcknowledged:
    @pytest.fixture
    def worse(self):
        found = judged()
        [one] = found.together(Outcome.REGRESSION)
        values = [each.value for each in one.rows]
        return found, one, float(np.exp(np.mean(np.log(values))))

    def outcome(self, worse, **options):
        found, one, _ = worse
        explained = with_known(found, known(one.rows, **options))
        return next(each for each in explained.surfaces if each.rows == one.rows).outcome

    def test_a_change_of_all_its_points_explains_it(self, worse):
        found, one, level = worse
        assert {each.series_id for each in one.rows} <= set(in_question(found))
        explained = with_known(found, known(one.rows, at=level))
        assert exit_code(explained) is not ExitCode.REGRESSION
        [finding] = findings_of(explained)
        assert (finding.state, finding.turn) == (FindingState.ACKNOWLEDGED, Turn.SLOWER)
        assert "accepted at cccccccc: for accuracy" in finding.why
        assert "1 surface known to be worse as a whole" in rendered(explained, report_format=ReportFormat.TEXT)

    def test_one_of_most_of_its_points_does_not(self, worse):
        found, one, level = worse
        explained = with_known(found, known(one.rows[1:], at=level))
        assert explained.together(Outcome.REGRESSION) == [one]

    def test_what_came_on_top_is_not_explained(self, worse):
        assert self.outcome(worse, at=worse[2] / 1.02) is Outcome.KNOWN
        assert self.outcome(worse, at=worse[2] / 1.05) is Outcome.REGRESSION
        assert self.outcome(worse, at=worse[2] * 1.05) is Outcome.KNOWN

    def test_nor_what_recovered_in_between_or_was_gone(self, worse):
        level = worse[2]
        assert self.outcome(worse, at=level, later=[level, level * 1.01]) is Outcome.KNOWN
        assert self.outcome(worse, at=level, later=[level / 1.08]) is Outcome.REGRESSION
        assert self.outcome(worse, at=None) is Outcome.REGRESSION
