"""Reports of `gate` and `changes` in every format, held to files beside this one and to what reads them.

FUSEBENCH_WRITE_GOLDEN=1 writes the files anew; look at the difference before it is committed.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from results.judgement.findings import FindingState, Turn
from results.judgement.verdicts import judge
from results.output.changes import changes_rendered
from results.output.report import ReportFormat, rendered
from results.output.reports.annotations import MOST_OF_A_LEVEL, Level, annotation, annotations_of
from results.output.reports.comments import MOST_OPEN, comment_of, escaped
from results.output.reports.explanation_tables import tables_of
from results.output.reports.finding_tables import table_of_findings
from results.output.reports.finding_words import size_in_words
from tests.made_explanations import cpu, explained
from tests.made_findings import finding, histories, judgement, named
from tests.made_values import A, B, failed, row

GOLDEN = Path(__file__).with_name("golden")
ROOT = Path(__file__).parents[3]
SCHEMA = json.loads((ROOT / "docs" / "findings.schema.json").read_text(encoding="utf-8"))
RENDERED = {
    "gate": lambda each: rendered(judgement(), report_format=each),
    "changes": lambda each: changes_rendered(histories(), report_format=each),
}
ENDINGS = {"text": "txt", "json": "json", "markdown": "md", "junit": "xml", "github": "github"}
MOST_OF_GITHUB = 65_536


def comparable(text, report_format):
    """Return the text; of JSON the values, to six digits: the last ones are the processor's."""
    if report_format is not ReportFormat.JSON:
        return text
    return json.loads(text, parse_float=lambda number: float(f"{float(number):.6g}"))


@pytest.mark.parametrize("report_format", ReportFormat)
@pytest.mark.parametrize("command", RENDERED)
def test_a_report_is_what_it_was(command, report_format):
    path = GOLDEN / f"{command}.{ENDINGS[report_format]}"
    text = RENDERED[command](report_format).rstrip("\n") + "\n"
    if os.environ.get("FUSEBENCH_WRITE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert comparable(text, report_format) == comparable(path.read_text(encoding="utf-8"), report_format)


@pytest.mark.parametrize(
    ("metric", "turn", "told"),
    [("error_rel", Turn.SLOWER, "from 0"), ("time", Turn.SLOWER, ""), ("error_rel", Turn.CHANGED, "")],
)
def test_a_count_that_was_0_says_so_where_no_ratio_tells_how_much_it_grew(metric, turn, told):
    """An undecided one, changed, may have been anything without a ratio."""
    surface = finding().surface._replace(metric=metric)
    assert size_in_words(finding(surface=surface, ratio=None, turn=turn)) == told


def of_definition(name):
    return jsonschema.Draft202012Validator({"$defs": SCHEMA["$defs"], "$ref": f"#/$defs/{name}"})


def test_the_schema_is_one_and_the_package_has_it():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    packaged = ROOT / "results" / "output" / "reports" / "findings.schema.json"
    assert packaged.read_bytes() == (ROOT / "docs" / "findings.schema.json").read_bytes()


@pytest.mark.parametrize("command", RENDERED)
def test_json_is_what_the_schema_says(command):
    document = json.loads(RENDERED[command](ReportFormat.JSON))
    assert document["findings"]
    of_definition(command).validate(document)
    jsonschema.validate(document, SCHEMA)


@pytest.mark.parametrize(
    "key", ["benchmark", "metric", "points", "last_good", "first_bad", "ratio", "interval", "state"]
)
def test_the_schema_misses_each_field_of_a_finding(key):
    document = json.loads(RENDERED["gate"](ReportFormat.JSON))
    del document["findings"][0][key]
    assert [error.validator for error in of_definition("gate").iter_errors(document)] == ["required"]


@pytest.mark.parametrize(
    ("key", "value"),
    [("state", "perhaps"), ("class", "weather"), ("turn", "worse"), ("strange", 1), ("first_bad", "v1")],
)
def test_the_schema_refuses_what_no_command_writes(key, value):
    document = json.loads(RENDERED["changes"](ReportFormat.JSON))
    document["findings"][0][key] = value
    assert list(of_definition("changes").iter_errors(document))


def test_gate_and_changes_share_one_finding():
    keys = [
        {tuple(found) for found in json.loads(RENDERED[command](ReportFormat.JSON))["findings"]} for command in RENDERED
    ]
    assert keys[0] == keys[1]
    assert len(keys[0]) == 1


@pytest.mark.parametrize("command", RENDERED)
def test_a_comment_of_ten_thousand_findings_has_room_for_the_worst_and_counts_the_rest(command):
    n = 10_000
    if command == "gate":
        found = judgement()
        worst = next(verdict for verdict in found.verdicts if verdict.outcome == "regression")
        rows = [worst.head._replace(benchmark=f"suite_{i}.{'é' * 60}") for i in range(n)]
        many = tuple(worst._replace(head=each, ratio=1.05 + i / n) for i, each in enumerate(rows))
        text = rendered(replace(found, verdicts=many), report_format=ReportFormat.MARKDOWN)
    else:
        many = tuple(named(f"suite_{i}.{'é' * 60}", ratio=1.05 + (n - i) / n) for i in range(n))
        text = changes_rendered([replace(histories()[0], findings=many)], report_format=ReportFormat.MARKDOWN)
    assert len(text.encode()) <= MOST_OF_GITHUB
    rows = re.findall(r"suite_(\d+)\.", text)
    assert rows[0] == (str(n - 1) if command == "gate" else "0")
    assert 100 < len(rows) < n
    assert "have no room here" in text
    assert text.count("<details>") == text.count("</details>")


def test_of_many_surfaces_the_worst_stand_open_and_the_rest_is_folded():
    many = tuple(named(f"suite_{i}.time_it") for i in range(40))
    text = changes_rendered([replace(histories()[0], findings=many)], report_format=ReportFormat.MARKDOWN)
    is_open = text.split("<details>")[0]
    assert is_open.count("\n| ") == MOST_OPEN + 1  # and the head
    assert "<summary>30 more</summary>" in text
    assert len(is_open.splitlines()) < 30, "fits a screen"


def test_the_worst_surface_comes_first():
    text = rendered(judgement(), report_format=ReportFormat.MARKDOWN)
    assert text.index("### Failed") < text.index("### Regressions") < text.index("### Undecided")
    rows = [line for line in text.split("### Regressions")[1].split("###")[0].splitlines() if line.startswith("| mlp")]
    assert "× 4" in rows[0]
    assert "3 of 4" in rows[0]
    assert "provider=fused" in rows[0]


def test_names_in_a_comment_end_no_cell_open_no_tag_and_mention_nobody():
    text = rendered(judgement(), report_format=ReportFormat.MARKDOWN)
    row_of_it = next(line for line in text.splitlines() if "torch \\|" in line)
    assert "<b>" not in text
    assert "@me" not in text
    assert "&lt;b>" in row_of_it
    assert len(re.findall(r"(?<!\\)\|", row_of_it)) == len(re.findall(r"(?<!\\)\|", row_of_it.replace("\\|", ""))) > 5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\\|b", "a\\\\\\|b"),  # a backslash of the text escapes none of ours
        ("\\[x](http://e)", "\\\\\\[x](http://e)"),
        ("&#64;me &lt;b>", "&amp;#\u200b64;me &amp;lt;b>"),
        ("s.C.__call__.time_it_all", "s.C.\\_\\_call\\_\\_.time_it_all"),
        ("~a~", "\\~a\\~"),
        ("as owner/name#12", "as owner/name#\u200b12"),
    ],
)
def test_a_text_cannot_take_back_what_makes_it_safe(text, expected):
    assert escaped(text) == expected


def test_a_finding_is_named_by_its_metric_whatever_that_is():
    base, head = row(1e-7, metric="error_rel"), row(1e-3, metric="error_rel", commit=B)
    found = judge([base], [head], base_commit="a" * 40, head_commit=B)
    for report_format in (ReportFormat.TEXT, ReportFormat.MARKDOWN, ReportFormat.JUNIT, ReportFormat.GITHUB):
        assert "mlp error_rel" in rendered(found, report_format=report_format)


def test_headings_of_a_comment_are_made_safe_and_what_a_cause_quotes_is_told_once():
    one = finding(why="crashed: out of memory")
    table = table_of_findings("<b> @me", [one], is_open=True, explained=lambda _: "It is crashed: out of memory.")
    text = comment_of("headline", [table], [])
    assert "### &lt;b>" in text
    assert "@me" not in text
    assert text.count("out of memory") == 1


def test_junit_parses_and_its_counts_are_its_cases():
    suite = ET.fromstring(rendered(judgement(), report_format=ReportFormat.JUNIT))  # noqa: S314 - ours
    suites = ET.fromstring(changes_rendered(histories(), report_format=ReportFormat.JUNIT))  # noqa: S314 - ours
    for one in (suite, *suites):
        counts = {tag: len(one.findall(f"testcase/{tag}")) for tag in ("failure", "error", "skipped")}
        told = {
            tag: int(one.get(name))
            for tag, name in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped"))
        }
        assert counts == told
        assert len(one.findall("testcase")) == int(one.get("tests"))
    assert [int(one.get("failures")) for one in suites] == [1, 0]


def test_junit_parses_whatever_a_stored_text_holds():
    forbidden = "".join(map(chr, [*range(0x9), 0xB, 0xC, *range(0xE, 0x20), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF]))
    crashed = failed(commit=B, provider=f"a{forbidden}z")
    gate = judge(
        [row(1.0, provider=f"a{forbidden}z")],
        [crashed._replace(reason=forbidden)],
        base_commit=A,
        head_commit=B,
    )
    [place, *_] = histories()
    changed = replace(place, findings=(named(f"b{forbidden}", why=forbidden),))
    for text in (
        rendered(gate, report_format=ReportFormat.JUNIT),
        changes_rendered([changed], report_format=ReportFormat.JUNIT),
    ):
        [case] = ET.fromstring(text).iter("testcase")  # noqa: S314 - ours
        assert r"\x0b" in case.get("name")
        assert r"\uffff" in "".join(case.itertext())


def test_undecided_points_are_one_folded_row_a_surface():
    noisy = [1.0, 1.4, 0.7]
    base = [row(noisy, batch=2**i, provider=name) for i in range(6) for name in ("fused", "compiled")]
    head = [
        row([1.3, 1.7, 0.9], batch=2**i, provider=name, commit=B) for i in range(6) for name in ("fused", "compiled")
    ]
    text = rendered(judge(base, head, base_commit=A, head_commit=B), report_format=ReportFormat.MARKDOWN)
    title, _, table = text.partition("### Undecided")[2].partition("<details>")
    assert "(2)" in title
    assert table.count("| 6 of 6 |") == 2
    assert table.count("\n| ") == 3, "a heading and two surfaces"


class TestAnnotations:
    """Commands that a workflow's runner reads from standard output."""

    @staticmethod
    def parsed(line):
        """Return level, title and message as the runner does."""
        level, title, message = re.fullmatch(r"::(\w+) title=([^:,\n]*)::([^\n]*)", line).groups()
        for escape, character in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
            title, message = title.replace(escape, character), message.replace(escape, character)
        return level, title, message

    @pytest.mark.parametrize(
        "text", ["50 %", "a\nb", "::error::x", "a: b, c", "%0A", "100%25", "::set-output name=x::y"]
    )
    def test_a_text_comes_out_as_it_went_in_and_ends_no_line(self, text):
        line = annotation(Level.ERROR, title=text, message=text)
        assert self.parsed(line) == ("error", text, text)

    def test_what_fails_a_gate_is_an_error_and_a_suspicion_in_a_history_a_warning(self):
        suspected = finding(state=FindingState.SUSPECTED)
        assert annotations_of([suspected], suspicion=Level.ERROR).startswith("::error ")
        assert annotations_of([suspected]).startswith("::warning ")
        assert annotations_of([finding()]).startswith("::error ")
        for harmless in (finding(state=FindingState.ACKNOWLEDGED), finding(turn=Turn.FASTER)):
            assert annotations_of([harmless]).startswith("::notice ")

    def test_more_than_a_page_shows_are_counted(self):
        lines = annotations_of([finding()] * 25).splitlines()
        assert len(lines) == MOST_OF_A_LEVEL
        assert self.parsed(lines[-1])[2].startswith("16 findings more")

    def test_a_gate_that_does_not_pass_without_a_finding_says_why(self):
        nothing = judge([], [], base_commit="a" * 40, head_commit="b" * 40)
        suite = ET.fromstring(rendered(nothing, report_format=ReportFormat.JUNIT))  # noqa: S314 - ours
        assert (suite.get("tests"), suite.get("errors")) == ("1", "1")
        assert "Nothing was measured" in suite.find("testcase/error").get("message")
        assert "Nothing was measured" in rendered(nothing, report_format=ReportFormat.GITHUB)
        disturbed = judge(
            [row(1.0)], [row(1.5, commit=B, disturbed="stolen time")], base_commit="a" * 40, head_commit="b" * 40
        )
        assert self.parsed(rendered(disturbed, report_format=ReportFormat.GITHUB))[0] == "warning"


def test_the_sentence_of_a_cause_stands_beside_its_finding():
    def cause(one):
        return f"because of {one.benchmark}"

    for report_format in (ReportFormat.MARKDOWN, ReportFormat.JUNIT, ReportFormat.GITHUB):
        assert "because of linear" in changes_rendered(histories(), report_format=report_format, explained=cause)
    for report_format in (ReportFormat.MARKDOWN, ReportFormat.GITHUB):
        assert "because of mlp" in rendered(judgement(), report_format=report_format, explained=cause)


OTHERS = ("3 others", "", "33 µs", "66 µs", "+33 µs")


def test_of_many_frames_of_the_host_the_table_adds_up_those_it_does_not_name():
    base, head = ({"aten::mm": 50, **{f"frame {i}": i * us for i in range(10, 20)}} for us in (1, 2))
    *_, frames = tables_of(explained(cpu(base, 195, overhead_s=None), cpu(head, 340, overhead_s=None)))
    assert (frames.title, len(frames.rows)) == ("On the host, as profiled", 8)
    assert frames.rows[-2:] == [("frame 13", "slower", "13 µs", "26 µs", "+13 µs"), OTHERS]
