"""The page of measurements: every figure from journals, the same each time, and what it claims."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.ruler.exit_codes import ExitCode
from benchmarks.ruler.history import measurements
from benchmarks.ruler.history.milestones import Milestone
from benchmarks.ruler.history.published import published_testbeds
from benchmarks.ruler.history.sections import Claim, claim_at
from benchmarks.ruler.measure.statistics import MedianInterval
from benchmarks.ruler.record.provenance import Commit
from benchmarks.ruler.sweep.interruption import run_command

ROOT = Path(__file__).parents[3]


@pytest.fixture
def published(tmp_path, journals):
    """Write three commits of one machine: the second makes fused mlp twice as fast, the third changes no kernel."""
    sweeps = journals.history(3, machine="cpu-box", ruler_version="3", n_visits=3)
    faster = {("mlp", "fused"): 0.5}
    sweeps = [sweeps[0], *(replace(sweep, slowdowns=faster) for sweep in sweeps[1:])]
    journals.write_journals(tmp_path / "cpu-box", sweeps)
    return tmp_path


def milestones_of(testbed):
    hashes = [commit.run.commit for commit in testbed.commits]
    same = [None, None, hashes[1]]
    return [
        Milestone(commit=Commit(hash=name, date="", subject=""), what=f"step {i}", same_kernels_as=same[i])
        for i, name in enumerate(hashes)
    ]


@pytest.fixture
def page(published):
    (testbed,) = published_testbeds(published)
    return measurements.page_of([testbed], milestones_of(testbed))


def cells(page, start):
    """Return the cells of the first line of a table that begins with `start`."""
    line = next(line for line in page.splitlines() if line.startswith(f"| {start}"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_what_later_turned_out_of_a_commit_stands_under_its_heading(published, journals, monkeypatch):
    monkeypatch.setattr(measurements, "_KNOWN_OF_COMMITS", {journals.commit_hash(2): "It was slow by mistake."})
    (testbed,) = published_testbeds(published)
    lines = measurements.page_of([testbed], milestones_of(testbed)).splitlines()
    (heading,) = (i for i, line in enumerate(lines) if line.startswith("### Ours and the rivals at"))
    assert lines[heading + 2] == "It was slow by mistake."


def test_a_step_is_read_off_the_table_of_commits(page, journals):
    before, step, after = (cells(page, journals.commit_hash(i)[:8]) for i in range(3))
    assert [before[1], step[1], after[1]] == ["step 0", "step 1", "step 2"]
    # linear and gated_mlp stay, mlp doubles: the geometric mean of three operations grows by the cube root of 2.
    assert float(step[2]) / float(before[2]) == pytest.approx(2 ** (1 / 3), abs=0.01)
    assert step[2:] == after[2:]
    assert before[-1] == step[-1] == "1.000"
    assert before[3] == "–"  # fused:packed was not measured


def test_commits_with_the_same_kernels_are_compared_and_no_others(page, journals):
    (line,) = [line for line in page.splitlines() if "that nothing disturbed" in line]
    first, second = (journals.commit_hash(i)[:8] for i in (1, 2))
    assert line.startswith(
        f"- {first} and {second}: of the 24 speedups, that nothing disturbed, the intervals of 24 touch; they lie 0.0 %"
    )
    assert "the disturbed ones included" not in page


def test_each_shape_says_what_becomes_of_the_claim_and_of_the_best_rival(page):
    # eager ÷ fused is 1.6, twice that for mlp; compiled is 1.25 times as fast as eager.
    linear, mlp = cells(page, "linear gelu 64, 64, 256 | fused"), cells(page, "mlp gelu 64, 64, 256 | fused")
    assert linear[1:4] == ["fused", "1.60 (1.59–1.61)", "confirmed"]
    assert mlp[1:4] == ["fused", "3.20 (3.18–3.22)", "exceeded"]
    assert linear[4] == "1.28 (1.26–1.30), ahead: compiled"
    assert "exceeded at 4, confirmed at 8, undecided at 0, refuted at 0, not measured at 0." in page
    assert "against the best rival: ahead at 12, even at 0, behind at 0." in page


@pytest.mark.parametrize(
    ("low", "high", "claim"),
    [
        (3.1, 3.2, Claim.EXCEEDED),
        (1.5, 3.2, Claim.CONFIRMED),
        (1.4, 1.6, Claim.UNDECIDED),
        (1.3, 1.49, Claim.REFUTED),
    ],
)
def test_the_claim_is_judged_by_the_whole_interval(low, high, claim):
    assert claim_at(MedianInterval(median=(low + high) / 2, low=low, high=high)) is claim


def test_what_compiling_costs_is_given_in_calls_that_win_it_back(page, journals):
    line = cells(page, "linear gelu 64, 64, 256 | 1.10 s")
    sweep = journals.Sweep()
    won_s = journals.latency_s(sweep, "linear", "eager", 64, 256) - journals.latency_s(
        sweep, "linear", "compiled", 64, 256
    )
    assert line[1:] == ["1.10 s", "–", f"{1.1 / won_s:,.0f} calls"]


def test_the_same_journals_give_the_same_page(published):
    runner, pages = CliRunner(), []
    for name in ("one.md", "other.md"):
        result = runner.invoke(measurements.main, ["--published", str(published), "--page", str(published / name)])
        assert result.exit_code == 0, result.output
        pages.append((published / name).read_bytes())
    assert pages[0] == pages[1] != b""


def test_a_point_that_failed_is_named_and_is_no_number(tmp_path, journals):
    sweep = journals.Sweep(machine="cpu-box", ruler_version="3", n_visits=3, states={("mlp", "compiled"): "crashed"})
    journals.write_journals(tmp_path / "cpu-box", [sweep])
    page = measurements.page_of(published_testbeds(tmp_path), ())
    line = cells(page[page.index("wall time** (rival") :], "mlp gelu 64, 64, 256")
    assert line[4] == "crashed"
    assert not any(line.startswith("| mlp gelu 64, 64, 256 | 1.10 s") for line in page.splitlines())


def test_without_a_gpu_the_page_says_so_and_with_one_it_has_the_articles_cases(tmp_path, journals, page):
    assert "No GPU has been measured" in page
    sweep = journals.Sweep(
        machine="h200", device="cuda", ruler_version="3", n_visits=3, batches=(8192,), hiddens=(3072,)
    )
    journals.write_journals(tmp_path / "h200", [sweep])
    of_gpu = measurements.page_of([each for each in published_testbeds(tmp_path) if each.is_gpu], ())
    assert "No GPU" not in of_gpu
    assert cells(of_gpu, "gated_mlp gelu 8192, 768, 3072 | compiled")[2:] == [
        "927716.9 µs",
        "556630.2 µs",
        "1.25 (1.24–1.26)",
    ]
    assert "device time" in of_gpu


def test_absolute_times_come_from_a_gpu_alone(tmp_path, journals):
    made = journals.Sweep(machine="box", ruler_version="3", n_visits=3, disturbed="waited")
    journals.write_journals(tmp_path / "cpu-box", [made])
    of_cpu = measurements.page_of(published_testbeds(tmp_path), ())
    assert "µs" not in of_cpu[of_cpu.index("## box") :]
    assert cells(of_cpu[of_cpu.index("wall time** (rival") :], "mlp gelu 64, 64, 256")[1] == "disturbed"


def test_an_older_rulers_lines_are_left_out_where_a_newer_ones_are(tmp_path, journals):
    old, new = (journals.Sweep(machine="cpu-box", ruler_version=name, run_id=f"run{name}") for name in ("2", "10"))
    journals.write_journals(tmp_path / "cpu-box", [new, old])
    (testbed,) = published_testbeds(tmp_path)
    assert testbed.ruler_version == "10"
    assert {line.head.run.ruler_version for line in testbed.commits[0].timings.values()} == {"10"}


@pytest.mark.parametrize(("ruler", "is_told"), [("3", True), ("4", False)])
def test_what_an_older_ruler_overstated_is_said_beside_its_figures(tmp_path, journals, ruler, is_told):
    sweeps = journals.history(1, machine="cpu-box", ruler_version=ruler, n_visits=3)
    journals.write_journals(tmp_path / "cpu-box", sweeps)
    page = measurements.page_of(published_testbeds(tmp_path), ())
    assert ("ratios to those two are too high" in page) is is_told


def test_a_journal_that_cannot_be_read_is_named(published, monkeypatch, capsys):
    path = next(published.glob("*/journal/*/*.jsonl"))
    path.write_text("{}\n")
    monkeypatch.setattr(sys, "argv", ["m", "--published", str(published), "--page", str(published / "p.md")])
    with pytest.raises(SystemExit) as ended:
        run_command(measurements.main, name="measurements")
    assert ended.value.code == ExitCode.WRONG_USAGE
    assert f"measurements: {path}:1: not a line of a journal" in capsys.readouterr().err
    assert not (published / "p.md").exists()


def test_the_page_of_this_repository_is_what_its_journals_give():
    text = measurements.page_of(published_testbeds(measurements.PUBLISHED), measurements.milestones_or_none())
    assert (ROOT / "docs" / "measurements.md").read_text(encoding="utf-8") == text, "make measurements, and commit it"


def test_what_was_disturbed_decides_no_claim_and_is_no_measure_of_noise(tmp_path, journals):
    sweeps = journals.history(2, machine="cpu-box", ruler_version="3", n_visits=3, disturbed="a neighbour")
    journals.write_journals(tmp_path / "cpu-box", sweeps)
    (testbed,) = published_testbeds(tmp_path)
    milestones = milestones_of(replace(testbed, commits=(testbed.commits[0], *testbed.commits)))
    page = measurements.page_of([testbed], milestones)
    assert cells(page, "linear gelu 64, 64, 256 | fused")[3] == "undecided (disturbed; its interval says confirmed)"
    assert (
        "by more than a slow machine, which leaves ratios as they are, is undecided; the\n"
        "intervals of these 12 alone say\nexceeded at 0, confirmed at 12" in page
    )
    assert "that nothing disturbed" not in page
    assert "of all 24 speedups, the disturbed ones included, the intervals of 24 touch" in page


def test_a_slow_machine_leaves_the_ratios_of_a_claim_as_they_are(tmp_path, journals):
    slow = "the machine ran at 80 % of its best (one core's arithmetic)"
    journals.write_journals(tmp_path / "box", journals.history(1, machine="box", ruler_version="3", disturbed=slow))
    page = measurements.page_of(published_testbeds(tmp_path), None)
    assert cells(page, "linear gelu 64, 64, 256 | fused")[3] == "confirmed"
    assert "is undecided; the\n" not in page


def test_losses_and_failures_are_rows_as_wins_are(tmp_path, journals):
    made = journals.Sweep(
        machine="cpu-box",
        ruler_version="3",
        n_visits=3,
        providers=("eager", "compiled", "fused", "fused:packed"),
        states={("linear", "fused"): "wrong", ("linear", "fused:packed"): "crashed", ("mlp", "fused:packed"): "wrong"},
        slowdowns={("gated_mlp", "fused"): 2.0, ("gated_mlp", "fused:packed"): 3.0},
    )
    journals.write_journals(tmp_path / "cpu-box", [made])
    page = measurements.page_of(published_testbeds(tmp_path), ())
    assert cells(page, "linear gelu 64, 64, 256")[1:] == [
        "fused: wrong; fused:packed: crashed",
        "–",
        "not measured",
        "–",
    ]
    assert cells(page, "mlp gelu 64, 64, 256")[1] == "fused (fused:packed: wrong)"
    lost = cells(page, "gated_mlp gelu 64, 64, 256")
    assert (lost[1], lost[3]) == ("fused", "refuted")
    assert "behind: compiled" in lost[4]
    assert "confirmed at 4, undecided at 0, refuted at 4, not measured at 4." in page
    assert "ahead at 4, even at 0, behind at 4." in page


def test_shapes_that_few_commits_were_measured_at_leave_the_curve_of_the_others_alone(published, journals):
    """`make rivals` measures one commit at other shapes, in the same folder."""
    rivals = journals.Sweep(
        commit="d" * 40,
        commit_date=journals.START + journals.timedelta(days=9),
        machine="cpu-box",
        ruler_version="3",
        n_visits=3,
        hiddens=(512,),
    )
    journals.write_journals(published / "cpu-box", [rivals])
    page = measurements.page_of(published_testbeds(published), ())
    assert "12 shapes that all of them were measured at" in page
    assert "### Over 3 commits" in page
    assert cells(page, journals.commit_hash(1)[:8])[2] != "–"
    assert "### Ours and the rivals at dddddddd" in page


def test_ways_of_ours_by_name_are_no_rivals_and_a_librarys_fused_product_is(tmp_path, journals):
    providers = ("eager", "fused", "fused-cublaslt", "fused-single", "fused-cuda", "fused-onednn")
    made = journals.Sweep(machine="cpu-box", ruler_version="3", n_visits=3, providers=providers)
    journals.write_journals(tmp_path / "cpu-box", [replace(made, weights={"fused-onednn": "packed"})])
    page = measurements.page_of(published_testbeds(tmp_path), ())
    (head,) = {line for line in page.splitlines() if line.startswith("| shape | remark")}
    assert head == "| shape | remark | of floor | eager | fused-onednn:packed | the best of them |"


def test_what_compiling_wins_is_not_known_where_it_is_as_fast_as_eager(tmp_path, journals):
    made = journals.Sweep(
        machine="cpu-box",
        ruler_version="3",
        n_visits=3,
        slowdowns={("mlp", "compiled"): 1.249, ("linear", "compiled"): 2},
    )
    journals.write_journals(tmp_path / "cpu-box", [made])
    page = measurements.page_of(published_testbeds(tmp_path), ())
    assert cells(page, "mlp gelu 64, 64, 256 | 1.10 s")[3] == "not known: as fast as eager, as far as can be told"
    assert cells(page, "linear gelu 64, 64, 256 | 1.10 s")[3] == "never: it is slower than eager"


def test_what_was_not_compiled_has_no_empty_table(tmp_path, journals):
    made = journals.Sweep(machine="cpu-box", ruler_version="3", n_visits=3, providers=("eager", "fused"))
    journals.write_journals(tmp_path / "cpu-box", [made])
    assert "Compiling per shape" not in measurements.page_of(published_testbeds(tmp_path), ())


def test_the_articles_cases_stay_when_a_newer_commit_is_measured_at_others(tmp_path, journals):
    of_gpu = journals.Sweep(machine="h200", device="cuda", ruler_version="3", n_visits=3)
    article = replace(of_gpu, batches=(8192,), hiddens=(3072,))
    newer = replace(article, commit="e" * 40, commit_date=journals.START + journals.timedelta(days=1), batches=(1,))
    journals.write_journals(tmp_path / "h200", [article, newer])
    page = measurements.page_of(published_testbeds(tmp_path), ())
    assert "### The article's cases at aaaaaaaa" in page
    case = page[page.index("### The article's cases") :]
    assert cells(case, "gated_mlp gelu 8192, 768, 3072 | fused")[4] == "1.60 (1.59–1.61)"
    assert "By wall time, of 3 shapes" in page
    assert "By device time, of 3 shapes" in page


def test_shapes_are_in_order_whatever_was_measured_first(tmp_path, journals):
    made = journals.Sweep(machine="cpu-box", ruler_version="3", n_visits=3, batches=(64, 1), hiddens=(1024, 256))
    journals.write_journals(tmp_path / "cpu-box", [made])
    page = measurements.page_of(published_testbeds(tmp_path), ())
    table = page[page.index("**fused, wall time**") : page.index("| shapes |")]
    rows = [line.split("|")[1].split("gelu ")[1].strip() for line in table.splitlines() if line.startswith("| mlp")]
    assert rows == ["1, 64, 256", "64, 64, 256", "1, 256, 1024", "64, 256, 1024"]
