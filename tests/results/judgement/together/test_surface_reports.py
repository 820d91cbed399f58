"""Surfaces of which only all points together are certain: told in every format, and acknowledged."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import numpy as np
import pytest

from results.exit_codes import ExitCode
from results.judgement.commit_findings import findings_of
from results.judgement.explanation.reproduction import command_of
from results.judgement.findings import FindingState, Turn
from results.judgement.known_levels import in_question, with_known
from results.judgement.outcomes import Outcome
from results.judgement.verdicts import exit_code
from results.output.report import ReportFormat, rendered
from results.rows import HistoryValue, KnownChange, KnownLevel
from tests.made_surfaces import judged
from tests.made_values import A, B

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


def test_its_command_measures_the_whole_surface_again():
    [finding] = findings_of(judged())
    command = command_of((A, B), None, finding)
    base, head = A[:12], B[:12]
    assert command == f"fusebench ab {base} {head} --operation mlp --provider fused --pass forward"
