"""Surfaces of which only all points together are certain: told in every format, and acknowledged."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from results.exit_codes import ExitCode
from results.judgement.commit_findings import findings_of
from results.judgement.findings import FindingState, Turn
from results.judgement.known_levels import in_question, with_known
from results.judgement.outcomes import Outcome
from results.judgement.verdicts import exit_code
from results.output.report import ReportFormat, rendered
from results.rows import HistoryValue, KnownChange, KnownLevel
from tests.made_surfaces import judged

SCHEMA = Path(__file__).resolve().parents[4] / "docs" / "findings.schema.json"


class TestReports:
    def told(self, report_format, **options):
        return rendered(judged(**options), report_format=report_format)

    def test_text_has_it_first_among_the_regressions(self):
        lines = self.told(ReportFormat.TEXT).splitlines()
        assert lines[0].endswith("; 1 surface worse as a whole")
        start = lines.index("Regressions:")
        assert lines[start + 3].startswith("mlp latency_s  provider=fused ")
        assert "all 24 points together" in lines[start + 3]
        assert any(
            re.fullmatch("Changes under .* that all points of a surface share are invisible in .*", line)
            for line in lines
        )

    def test_what_is_visible_and_too_small_to_matter_is_not_told(self):
        found = judged(1.02, noise=0.003)
        assert max(one.evidence.floor for one in found.surfaces) < 0.02 < found.least_change
        assert not found.together(Outcome.REGRESSION)
        text = rendered(found, report_format=ReportFormat.TEXT)
        assert "Of these, changes under 3.0\N{NARROW NO-BREAK SPACE}% are not told: they are not relevant." in text
        assert "are not told" not in self.told(ReportFormat.TEXT)

    def test_a_limit_is_one_of_surfaces_and_points(self):
        found = judged(of_first=2.0)
        [worse] = [one for one in found.surfaces if one.outcome is Outcome.REGRESSION]
        others = [row._replace(series_id=-1 - i) for i, row in enumerate(worse.rows)]
        many = replace(found, surfaces=(*[worse._replace(rows=tuple(others))] * 3,))
        lines = rendered(many, report_format=ReportFormat.TEXT, limit=2).splitlines()
        start = lines.index("Regressions (2 of 4, the largest changes):")
        assert [line.startswith("mlp latency_s") for line in lines[start + 3 : start + 6]] == [True, True, False]
        assert any("more changes are not listed" in line for line in lines)

    def test_markdown_opens_with_it(self):
        told = self.told(ReportFormat.MARKDOWN)
        assert told.index("all 24 points together") < told.index("<details>")

    def test_json_counts_each_surface(self):
        told = json.loads(self.told(ReportFormat.JSON))
        jsonschema.validate(told, json.loads(SCHEMA.read_text(encoding="utf-8")))
        first, other = told["surfaces"]
        assert (first["outcome"], first["is_finding"], other["is_finding"]) == ("regression", True, False)
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


def known(rows, *, at, later=()):
    """Levels of series whose change was acknowledged at a commit where they took `at` times as long as now."""

    def value_of(row, factor):
        value = factor * row.value
        told = {"state": "ok", "value": value, "ci_low": 0.99 * value, "ci_high": 1.01 * value}
        return HistoryValue(**dict.fromkeys(HistoryValue._fields) | told)

    return [
        KnownLevel(
            change=KnownChange(
                series_id=each.series_id, point_id=0, project="p", machine="m", environment="e", benchmark="mlp",
                metric="latency_s", parameters=each.parameters, commit="c" * 40, commit_date=None,
                decision="accepted", note="for accuracy", decided_by=None, decided_at=None,
            ),
            value=None if at is None else value_of(each, at),
            later=tuple(value_of(each, one) for one in later),
        )
        for each in rows
    ]  # fmt: skip


class TestAcknowledged:
    @pytest.fixture
    def worse(self):
        found = judged()
        [one] = found.together(Outcome.REGRESSION)
        return found, one

    def outcome(self, worse, levels):
        found, one = worse
        return next(each for each in with_known(found, levels).surfaces if each.rows == one.rows).outcome

    def test_a_change_of_all_its_points_explains_it(self, worse):
        found, one = worse
        assert {each.series_id for each in one.rows} <= set(in_question(found))
        explained = with_known(found, known(one.rows, at=1.0))
        assert exit_code(explained) is not ExitCode.REGRESSION
        [finding] = findings_of(explained)
        assert (finding.state, finding.turn) == (FindingState.ACKNOWLEDGED, Turn.SLOWER)
        assert "accepted at cccccccc: for accuracy" in finding.why
        assert "1 surface known to be worse as a whole" in rendered(explained, report_format=ReportFormat.TEXT)
        suite = ET.fromstring(rendered(explained, report_format=ReportFormat.JUNIT))  # noqa: S314 - our own
        skipped = [case.get("name") for case in suite.iter("testcase") if case.find("skipped") is not None]
        assert "mlp latency_s[pass=forward, provider=fused]" in skipped
        assert (suite.get("failures"), int(suite.get("skipped"))) == ("0", len(skipped))
        told = json.loads(rendered(explained, report_format=ReportFormat.JSON))
        assert told["surfaces"][0]["known"]["note"] == "for accuracy"
        jsonschema.validate(told, json.loads(SCHEMA.read_text(encoding="utf-8")))

    @pytest.mark.parametrize("outcome", sorted(set(Outcome) - {Outcome.REGRESSION}))
    def test_nothing_but_what_got_worse_is_known(self, worse, outcome):
        found, one = worse
        other = replace(found, surfaces=(one._replace(outcome=outcome),))
        assert self.outcome((other, one), known(one.rows, at=1.0)) is outcome

    def test_of_several_changes_that_of_its_first_point_is_told(self, worse):
        found, one = worse
        levels = [
            replace(level, change=replace(level.change, note=f"point {number}"))
            for number, level in enumerate(known(one.rows, at=1.0))
        ]
        [told] = with_known(found, levels).together(Outcome.KNOWN)
        assert told.known.note == "point 0"

    def test_one_of_most_of_its_points_does_not(self, worse):
        assert self.outcome(worse, known(worse[1].rows[1:], at=1.0)) is Outcome.REGRESSION

    def test_what_came_on_top_at_most_of_them_is_not_explained(self, worse):
        rows = worse[1].rows
        assert self.outcome(worse, known(rows, at=1.5)) is Outcome.KNOWN
        assert self.outcome(worse, known(rows, at=0.5)) is Outcome.REGRESSION
        half = len(rows) // 2
        for n_on_top, expected in ((half, Outcome.REGRESSION), (half - 1, Outcome.KNOWN)):
            levels = [*known(rows[:n_on_top], at=0.5), *known(rows[n_on_top:], at=1.0)]
            assert self.outcome(worse, levels) is expected

    def test_nor_what_recovered_in_between_or_was_gone(self, worse):
        rows = worse[1].rows
        assert self.outcome(worse, known(rows, at=1.0, later=[1.0, 1.01])) is Outcome.KNOWN
        assert self.outcome(worse, known(rows, at=1.0, later=[1.0, 0.5])) is Outcome.REGRESSION
        assert self.outcome(worse, known(rows, at=None)) is Outcome.REGRESSION

    def test_what_is_relevant_is_so_here_too(self, worse):
        found, one = worse
        strict = replace(found, surfaces=tuple(each._replace(least_change=0.6) for each in found.surfaces))
        assert self.outcome((strict, one), known(one.rows, at=0.7)) is Outcome.KNOWN
        assert self.outcome(worse, known(one.rows, at=0.7)) is Outcome.REGRESSION

    def test_one_certain_point_that_is_known_hides_no_surface(self):
        found = judged(of_first=2.0)
        [alone] = [one for one in found.verdicts if one.outcome is Outcome.REGRESSION]
        assert found.together(Outcome.REGRESSION) == []
        explained = with_known(found, known([alone.head], at=1.0))
        assert explained.count()[Outcome.KNOWN] == 1
        assert len(explained.together(Outcome.REGRESSION)) == 1
        assert exit_code(explained) is ExitCode.REGRESSION
