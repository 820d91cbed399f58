"""One rule for who is fastest: the store's rows, `show` and the dashboard's table say what it says."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from results.commands.export import export
from results.commands.show import show
from results.exit_codes import ExitCode
from results.judgement.noise import doubt_about
from results.judgement.winners import CLEAR, Standing, leads_in_words, ranking_of
from results.queries import latest_points
from results.rows import PointRow
from results.units import percent

NOW = datetime(2026, 11, 22, tzinfo=UTC)
KNOWN = {
    "project": "fusebench", "commit": "a" * 40, "machine": "desk", "environment": "py3.11-cpu-t2", "ruler_version": "3",
    "operation": "mlp", "provider": "fused", "pass_": "forward", "dtype": "float32", "activation": "gelu", "batch": 64,
    "hidden": 256, "dim": 64, "cache": "warm", "weights": "plain", "threads": 2, "state": "ok", "run_id": "r",
    "point_id": 1, "measured_at": NOW,
}  # fmt: skip


def point(provider, speedup, *, width=0.01, latency_width=0.01, **others):
    """A point of `speedup` ± `width` whose latency follows from it: eager takes 100 µs."""
    latency = 1e-4 / speedup
    fields = {
        **dict.fromkeys(PointRow._fields), **KNOWN, "provider": provider, "latency_s": latency,
        "latency_ci_low_s": latency * (1 - latency_width), "latency_ci_high_s": latency * (1 + latency_width),
    }  # fmt: skip
    if provider != "eager":
        of_speedup = {"": speedup, "_low": speedup * (1 - width), "_high": speedup * (1 + width)}
        fields |= dict(zip(("speedup_vs_eager", "speedup_ci_low", "speedup_ci_high"), of_speedup.values(), strict=True))
    return PointRow(**{**fields, **others})


EAGER = point("eager", 1.0)
WIDE = f"speedup known to ± {percent(0.1, digits=1)} only"


def told(*rows):
    ranking = ranking_of(rows)
    return ranking.standing, [row.provider for row in ranking.candidates]


def test_who_is_ahead_by_paired_rounds_is_told_where_nothing_decides():
    slow = {"disturbed": "the machine ran at 60 %"}
    apart = [ranking_of((EAGER, point("fused", speedup, width=0.1, **slow))) for speedup in (1.2, 1.3)]
    touching = ranking_of((EAGER, point("fused", 1.05, width=0.1, **slow)))
    decided = ranking_of((EAGER, point("fused", 1.5)))
    assert leads_in_words([*apart, touching, decided]).endswith(
        "all the same: fused at 2 shapes, by 1.08 to 1.17 × at least"
    )
    assert leads_in_words([touching, decided]) is None


def test_the_fastest_is_the_one_whose_interval_is_apart_from_every_others():
    rows = (EAGER, point("compiled", 1.25), point("fused", 1.6))
    assert told(*rows) == (Standing.FASTEST, ["fused"])
    ranking = ranking_of(rows)
    assert ranking.least_margin == pytest.approx(1.28 * 0.99 / 1.01)
    assert ranking.winner is rows[2]
    assert (ranking.runner_up, ranking.eager) == (rows[1], rows[0])
    assert ranking.margin == pytest.approx(1.28)


def test_contenders_whose_intervals_touch_are_tied_and_none_of_them_wins():
    rows = (EAGER, point("compiled", 1.58), point("fused", 1.6), point("other", 1.59), point("slow", 0.5))
    assert told(*rows) == (Standing.TIED, ["fused", "other", "compiled"])
    assert ranking_of(rows).winner is None


def test_eager_wins_where_every_rival_is_slower():
    assert told(EAGER, point("fused", 0.9)) == (Standing.FASTEST, ["eager"])
    assert told(EAGER, point("fused", 0.995)) == (Standing.TIED, ["eager", "fused"])


@pytest.mark.parametrize("disturbed", ["eager", "compiled", "fused"])
def test_a_disturbed_contender_leaves_it_undecided_whoever_leads(disturbed):
    rows = [EAGER, point("compiled", 1.4), point("fused", 1.6)]
    rows = [
        row._replace(disturbed="the machine ran at 60 % of its best (reading memory)")
        if row.provider == disturbed
        else row
        for row in rows
    ]
    ranking = ranking_of(rows)
    assert (ranking.standing, ranking.winner) == (Standing.UNDECIDED, None)
    assert ranking.doubt == f"disturbed: {disturbed}"
    assert disturbed in [row.provider for row in ranking.candidates]


@pytest.mark.parametrize(("visits", "standing"), [(3, Standing.FASTEST), (2, Standing.UNDECIDED)])
def test_fewer_visits_than_planned_leave_it_undecided_whatever_the_lead(visits, standing):
    rows = [row._replace(visit_count=visits, visits_planned=3) for row in (EAGER, point("fused", 3.0))]
    ranking = ranking_of(rows)
    assert ranking.standing is standing
    if standing is Standing.UNDECIDED:
        assert ranking.doubt == "2 of 3 visits: fused, eager"
        assert ranking.doubt_and_lead == "2 of 3 visits: fused, eager; ahead all the same, by 2.97 × at least"
    else:
        assert ranking.doubt is ranking.doubt_and_lead is None


def test_a_doubt_without_a_lead_is_told_alone():
    touching = ranking_of((EAGER, point("fused", 1.05, width=0.1)))
    assert touching.doubt_and_lead == touching.doubt == "fused: speedup known to ± 10.0\N{NARROW NO-BREAK SPACE}% only"


def test_a_contender_of_fewer_visits_far_behind_does_not_keep_the_others_from_winning():
    far = point("far", 0.5, visit_count=1, visits_planned=3)
    assert told(EAGER, point("compiled", 1.25), point("fused", 1.6), far) == (Standing.FASTEST, ["fused"])


@pytest.mark.parametrize("wide", ["compiled", "fused"])
def test_a_leader_or_runner_up_known_to_no_better_than_5_percent_leaves_it_undecided(wide):
    def at(width):
        widths = {wide: width}
        return [EAGER, *(point(name, speedup, width=widths.get(name, 0.01)) for name, speedup in
                         (("compiled", 1.25), ("fused", 1.6)))]  # fmt: skip

    assert told(*at(0.049))[0] is Standing.FASTEST
    assert told(*at(0.06))[0] is Standing.UNDECIDED
    assert ranking_of(at(0.06)).doubt == f"{wide}: speedup known to ± 6.0\N{NARROW NO-BREAK SPACE}% only"


def test_a_wide_contender_far_behind_does_not_keep_the_others_from_winning():
    rows = (EAGER, point("compiled", 1.25), point("fused", 1.6), point("far", 0.5, width=0.2))
    assert told(*rows) == (Standing.FASTEST, ["fused"])
    near = point("near", 1.2, width=0.4)
    assert told(*rows, near) == (Standing.UNDECIDED, ["fused", "near"])


def test_the_pair_decides_where_a_drift_widened_the_latencies_of_all():
    """Between visits the machine was slower by a third: the latencies say little, the paired ratios as much as ever."""
    drifting = [row._replace(latency_ci_high_s=row.latency_s * 1.4) for row in (EAGER, point("fused", 1.6))]
    assert told(*drifting) == (Standing.FASTEST, ["fused"])


def test_the_pair_ranks_where_runs_differ_in_their_machines_pace():
    """`fused` was measured again in a later run, on a machine at half speed: its speedup stays."""
    later = point("fused", 1.6, run_id="later")
    later = later._replace(
        latency_s=2 * later.latency_s, latency_ci_low_s=2 * later.latency_ci_low_s,
        latency_ci_high_s=2 * later.latency_ci_high_s,
    )  # fmt: skip
    assert told(EAGER, point("compiled", 1.25), later) == (Standing.FASTEST, ["fused"])


def test_without_a_baseline_the_latencies_decide():
    nothing = dict.fromkeys(("speedup_vs_eager", "speedup_ci_low", "speedup_ci_high"))
    rows = [point(name, speedup, **nothing) for name, speedup in (("compiled", 1.25), ("fused", 1.6))]
    assert told(*rows) == (Standing.FASTEST, ["fused"])
    wide = [point(name, speedup, latency_width=0.06, **nothing) for name, speedup in (("a", 1.0), ("b", 1.3))]
    assert told(*wide)[0] is Standing.UNDECIDED
    far = [point(name, speedup, latency_width=0.06, **nothing) for name, speedup in (("a", 1.0), ("b", 1.4))]
    assert told(*far) == (Standing.FASTEST, ["b"])


def test_a_point_that_is_not_ok_is_no_contender():
    failed = point("fused", 1.6, state="crashed", latency_s=None)
    assert told(EAGER, failed) == (None, ["eager"])
    assert ranking_of([failed]) is None
    assert ranking_of([]) is None


def test_what_an_older_ruler_measured_is_not_compared():
    older = point("fused", 9.0, ruler_version="2", measured_at=NOW.replace(year=2025))
    assert told(EAGER, point("compiled", 1.25), older) == (Standing.FASTEST, ["compiled"])


def test_an_interval_that_reaches_down_to_nothing_is_undecided_and_no_error():
    endless = point("fused", 1.6, speedup_ci_low=-0.2)
    assert told(EAGER, endless)[0] is Standing.UNDECIDED
    unknown = point("fused", 1.6, speedup_ci_low=None, speedup_ci_high=None)
    assert ranking_of([EAGER, unknown]).doubt == "fused: speedup has no interval"


speedups = st.floats(0.01, 100)
contenders = st.lists(st.tuples(speedups, st.floats(0, 0.3), st.booleans()), min_size=1, max_size=6)


@given(contenders, st.randoms())
def test_the_order_of_the_rows_decides_nothing(drawn, random):
    rows = [
        point(f"p{i}", speedup, width=width, disturbed="x" if is_disturbed else None)
        for i, (speedup, width, is_disturbed) in enumerate(drawn)
    ]
    shuffled = [EAGER, *rows]
    random.shuffle(shuffled)
    one, other = ranking_of([EAGER, *rows]), ranking_of(shuffled)
    assert one.standing is other.standing
    assert one.leader.latency_s == pytest.approx(other.leader.latency_s)


@given(contenders)
def test_a_winner_is_undisturbed_and_beyond_every_other_interval_and_narrow_or_clear_of_it(drawn):
    rows = [
        point(f"p{i}", speedup, width=width, disturbed="x" if is_disturbed else None)
        for i, (speedup, width, is_disturbed) in enumerate(drawn)
    ]
    winner = ranking_of([EAGER, *rows]).winner
    if winner is None or winner is EAGER:
        return
    assert not any(row.disturbed for row in rows)
    is_narrow = (winner.speedup_ci_high - winner.speedup_ci_low) / 2 / winner.speedup_vs_eager <= 0.0505
    ends = [1.0, *(row.speedup_ci_high for row in rows if row is not winner)]
    assert winner.speedup_ci_low > max(ends) * (1.0 if is_narrow else CLEAR - 1e-9)


@pytest.mark.parametrize(
    ("low", "high", "disturbed", "doubt"),
    [
        (0.95, 1.05, None, None),
        (0.94, 1.06, None, "known to ± 6.0\N{NARROW NO-BREAK SPACE}% only"),
        (0.99, 1.01, "a neighbour", "disturbed: a neighbour"),
        (None, None, None, "has no interval"),
        (1.0, float("inf"), None, "has no interval"),
    ],
)
def test_a_value_is_doubted_where_it_was_disturbed_or_is_wide(low, high, disturbed, doubt):
    assert doubt_about(1.0, low=low, high=high, disturbed=disturbed) == doubt


class TestShow:
    """`fusebench show` on the store's rows."""

    @pytest.fixture
    def shown(self, journal_store, journals):
        def run(*arguments, **changes):
            sweep = replace(journals.Sweep(operations=("mlp",), hiddens=(256,)), **changes)
            store = journal_store([sweep])
            answer = CliRunner().invoke(show, ["--db", store.name, *arguments], standalone_mode=False)
            return answer.stdout, [ranking_of([p for p in latest_points(store) if p.batch == b]) for b in (1, 64)]

        return run

    def test_it_marks_the_winner(self, shown):
        text, rankings = shown()
        assert [ranking.winner.provider for ranking in rankings] == ["fused", "fused"]
        assert text.count("fastest") == 2
        assert "undecided" not in text

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"noise": 0.2}, f"fused: {WIDE}; compiled: {WIDE}; ahead "),
            (
                {"disturbed": "the machine ran at 60 %", "noise": 0.1},
                "disturbed: fused, compiled, eager; ahead all the same, by 1.16 × at least\n",
            ),
        ],
    )
    def test_it_names_no_winner_where_a_time_is_in_doubt_and_says_what_to_do(self, shown, changes, reason):
        text, rankings = shown(**changes)
        assert {ranking.standing for ranking in rankings} == {Standing.UNDECIDED}
        assert "undecided which is fastest, 2 of 2 shapes" in text
        assert text.count(reason) == 2
        assert "all the same: fused at 2 shapes, by " in text
        assert "± 5\N{NARROW NO-BREAK SPACE}%, or of a machine that was slow" in text
        assert text.count("measure again") == text.count("measure again: fusebench run --again") == 1
        assert "fastest\n" not in text

    @pytest.mark.parametrize(("noise", "standing"), [(0.01, "fastest"), (0.2, "undecided")])
    def test_json_and_csv_say_the_same(self, shown, noise, standing):
        rows = json.loads(shown("--format", "json", noise=noise)[0])
        assert {row["standing"] for row in rows if row["provider"] == "fused"} == {standing}
        assert {row["standing"] for row in rows if row["provider"] == "eager"} <= {None, standing}
        assert "standing" in shown("--format", "csv", noise=noise)[0].splitlines()[0].split(",")


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
def test_an_export_says_who_was_fastest_at_each_commit(journal_store, journals, tmp_path, suffix):
    first, second = journals.history(2, operations=("mlp",))
    store = journal_store([first, replace(second, disturbed="a neighbour")])
    path = tmp_path / f"points.{suffix}"
    answer = CliRunner().invoke(export, ["--db", store.name, "--output", str(path)], standalone_mode=False)
    assert answer.return_value == ExitCode.FINE, answer.output
    match suffix:
        case "csv":
            rows = list(csv.DictReader(path.read_text().splitlines()))
        case "json":
            rows = json.loads(path.read_text())
        case _:
            rows = pytest.importorskip("pyarrow.parquet").read_table(path).to_pylist()
    fused = [(row["commit"], row["standing"]) for row in rows if row["provider"] == "fused"]
    assert set(fused) == {(first.commit, "fastest"), (second.commit, "undecided")}
    assert {row["standing"] or None for row in rows if row["provider"] == "eager"} <= {None, "undecided"}
