"""Plain asv over a range of commits, a virtualenv and a wheel for each, and what becomes of it."""

from __future__ import annotations

import json
import math
import re
from statistics import median

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

AXES = """
operations = ["linear", "mlp"]
batches = [8]
hiddens = [64]
budget_s = 0.05
visits = 1
"""
DRAWN = """
import json
from dashboard.figures.throughput import chart_over_commits
from dashboard.scales import CommitSpacing
from dashboard.quantities import Quantity
from results.queries import throughput_by_commit
from results.store import OpenMode, open_store

with open_store(None, mode=OpenMode.READ) as store:
    rows = throughput_by_commit(store, operation="mlp", machine="testbox")
chart = chart_over_commits(rows, quantity=Quantity.ROWS_PER_S, spacing=CommitSpacing.ORDER)
curves = {
    curve.name: [[mark.key, mark.reading.value] for mark in curve.marks]
    for curve in chart.curves
}
print(json.dumps(curves))
"""


@pytest.fixture(scope="module")
def two_commits(new_user, tmp_path_factory, kernels_built_here):
    """Measure two new commits of a clone by plain `asv run`; return the shell, the commits, asv's output."""
    shell = new_user("range")
    start = int(shell.git("show", "--no-patch", "--format=%ct", "HEAD"))
    for minutes, subject in ((1, "Nothing new"), (2, "Nothing new again")):
        date = f"{start + 60 * minutes} +0000"
        shell.git("commit", "--quiet", "--allow-empty", "--message", subject, GIT_COMMITTER_DATE=date)
    commits = shell.git("rev-list", "--reverse", "HEAD~2..HEAD").split()
    axes = tmp_path_factory.mktemp("axes") / "small.toml"
    axes.write_text(AXES)
    named = shell.asv("machine", "--yes", "--machine", "testbox")
    assert named.code == 0, named.output
    answer = shell.asv("run", "--machine", "testbox", "HEAD~2..HEAD", FUSEBENCH_AXES=str(axes), **kernels_built_here)
    assert answer.code == 0, answer.output
    return shell, commits, answer


def test_asv_measures_both_commits_without_a_complaint(two_commits):
    _, commits, answer = two_commits
    assert all(commit[:8] in answer.out for commit in commits)
    assert "mlp.Mlp.time_forward" in answer.out
    assert "failed" not in answer.output
    assert "Traceback" not in answer.output


def test_both_commits_are_on_the_curve_the_dashboard_draws(two_commits):
    shell, commits, _ = two_commits
    stored = shell.fusebench("ingest")
    assert stored.code == 0, stored.output
    assert {point["operation"] for point in shell.points()} == {"linear", "mlp"}
    curves = shell.ask(DRAWN)
    assert set(curves) == {"eager", "compiled", "fused"}
    for marks in curves.values():
        assert [commit for commit, _ in marks] == commits
        assert all(rows_per_s > 0 for _, rows_per_s in marks)


def test_asv_compares_them(two_commits):
    shell, commits, _ = two_commits
    answer = shell.asv("compare", "--machine", "testbox", *commits)
    assert answer.code == 0, answer.output
    timed = [line for line in answer.out.splitlines() if "mlp.Mlp.time_forward" in line and "float32" in line]
    assert len(timed) == 3
    for line in timed:
        assert re.search(r"\d[\d.]*±[\d.]*[mμun]?s", line), line
        assert re.search(r"[| ~](\d+\.\d+)[| ]", line), line


def test_asv_publishes_what_it_replayed(two_commits):
    shell, commits, _ = two_commits
    answer = shell.asv("publish")
    assert answer.code == 0, answer.output
    html = shell.folder / ".asv" / "html"
    index = json.loads((html / "index.json").read_text())
    assert "mlp.Mlp.time_forward" in index["benchmarks"]
    # asv lists the commits of all tags beside the measured ones.
    tagged = set(shell.git("for-each-ref", "--format=%(*objectname)%(objectname)", "refs/tags").split())
    tagged = {each[:40] for each in tagged}
    assert set(commits) <= set(index["revision_to_hash"].values()) <= set(commits) | tagged
    (graph,) = (path for path in html.glob("graphs/**/mlp.Mlp.time_forward.json") if "summary" not in path.parts)
    revisions = json.loads(graph.read_text())
    seconds = [value for _, values in revisions for value in values if value is not None]
    assert len(revisions) == 2
    assert len(seconds) >= 2 * 3
    assert all(math.isfinite(value) and value > 0 for value in seconds)


def test_asv_continuous_finds_the_commit_that_was_recorded_slower(two_commits, tmp_path):
    shell, (before, after), _ = two_commits
    (path,) = (shell.folder / "results" / "data" / "local" / "journal").glob(f"*/{after[:8]}-*.jsonl")
    calm(path.with_name(f"{before[:8]}{path.name[8:]}"))
    lines = lines_of(path)
    for line in lines:
        if line["kind"] == "timing" and line["point"]["operation"] == "mlp":
            as_before = recorded_before(path, before, line["point"])
            line["samples_s"] = [1.5 * before_s for before_s in as_before["samples_s"]]
            line["visits"] = as_before["visits"]
    write_lines(path, lines)
    slowed = path.read_bytes()
    axes = tmp_path / "small.toml"
    axes.write_text(AXES)
    bench = ("--bench", "mlp.Mlp.time_forward")
    answer = shell.asv(
        "continuous", "--machine", "testbox", "-f", "1.2", *bench, before, after, FUSEBENCH_AXES=str(axes)
    )
    assert path.read_bytes() == slowed, "what is recorded is replayed, not measured again"
    assert answer.code == 1, answer.output
    assert "PERFORMANCE DECREASED" in answer.out
    ratios = re.findall(r"(\d+\.\d+)\s*\|\s*mlp\.Mlp\.time_forward\(", answer.out)
    assert sorted(map(float, ratios)) == [1.5] * 3


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def write_lines(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def calm(path):
    """Give each visit of a journal 20 samples near its median: asv finds nothing in few samples, or far apart ones."""
    lines = lines_of(path)
    for line in lines:
        if samples_s := line.get("samples_s"):
            middle_s = median(samples_s)
            line["samples_s"] = [middle_s * (1 + step / 10_000) for _ in line["visits"] for step in range(20)]
            line["visits"] = [{**visit, "n_samples": 20} for visit in line["visits"]]
    write_lines(path, lines)


def recorded_before(path, commit, point):
    """Return what the journal's last timing line says of `point` at the other commit."""
    other = path.with_name(f"{commit[:8]}{path.name[8:]}")
    return [line for line in lines_of(other) if line["kind"] == "timing" and line["point"] == point][-1]
