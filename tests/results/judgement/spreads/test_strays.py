"""How far single values stray: told by all series of a testbed, and what a single process proves then."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

from results.commands.judging.gate import gate
from results.exit_codes import ExitCode
from results.judgement.comparison.evidence import compare
from results.judgement.comparison.moderation import Prior
from results.judgement.comparison.processes import Pair, Process
from results.judgement.outcomes import Change, Outcome
from results.judgement.run_spreads import run_spreads
from results.judgement.verdicts import exit_code, judge
from results.rows import RunValues
from results.store import open_store
from tests.made_values import A, B, row

N_RUNS = 40


def logs_of(n_series, *, strays=0.0, seed=4):
    """Noise of 1 %, and a share of single values that are up to three times as large."""
    random = np.random.default_rng(seed)
    noise = 0.01 * random.standard_normal((n_series, N_RUNS))
    stray = np.log(random.uniform(1.3, 3, noise.shape))
    return noise + np.where(random.random(noise.shape) < strays, stray, 0.0)


def stray_of(logs, **options):
    runs = tuple(f"{i:040x}" for i in range(logs.shape[1]))
    series = [RunValues(i, runs, runs, tuple(np.exp(one).tolist())) for i, one in enumerate(logs)]
    return {prior.stray for prior in run_spreads(series, without=B, is_one_testbed=True, **options).values()}


def test_one_move_in_a_thousand_is_beyond_it():
    [normal], [strayed] = stray_of(logs_of(60)), stray_of(logs_of(60, strays=0.02))
    assert 1.5 < normal < 5
    assert strayed > 30
    logs = logs_of(30, strays=0.02)
    sds = np.array([one.sd for one in run_spreads(list(made(logs)), without=B).values()])
    apart = [
        min(abs(b - a), abs(b - c)) / (math.sqrt(2) * sd) if (b - a) * (b - c) > 0 else 0.0
        for one, sd in zip(logs, sds, strict=True)
        for a, b, c in zip(one, one[1:], one[2:], strict=False)
    ]
    [found] = stray_of(logs)
    assert found == pytest.approx(np.quantile(apart, 1 - 0.001 / 2))


def test_what_moves_and_stays_is_no_stray():
    [normal], [stepped] = stray_of(logs_of(60)), stray_of(logs_of(60) + 0.5 * (np.arange(N_RUNS) >= 20))
    assert stepped == pytest.approx(normal, rel=0.2)
    assert stray_of(0.001 * np.arange(N_RUNS) + np.zeros((60, 1))) == {0.0}  # all move on, none comes back


def made(logs):
    runs = tuple(f"{i:040x}" for i in range(logs.shape[1]))
    return (RunValues(i, runs, runs, tuple(np.exp(one).tolist())) for i, one in enumerate(logs))


def test_few_moves_tell_nothing_of_it():
    logs = logs_of(50, strays=0.02)
    assert stray_of(logs[:, :22]) != {0.0}  # of 1,000 values that have two neighbours
    assert stray_of(logs[:37, :29]) == {0.0}  # of 999
    assert {prior.stray for prior in run_spreads(list(made(logs_of(60))), without=B).values()} == {0.0}


@pytest.mark.parametrize(("n_processes", "is_certain"), [(1, False), (2, True)])
def test_what_is_no_farther_than_values_stray_is_not_certain_of_single_processes(n_processes, is_certain):
    def processes(log, run):
        return tuple(Process(run=run, visit=visit, log=log, is_head=run == "head") for visit in range(n_processes))

    sides = {"base": processes(0.0, "base"), "head": processes(0.5, "head")}
    pairs = [Pair(name="p", testbed="t", surface="s", **sides)]
    found = {
        stray: compare(pairs, spreads={"p": Prior(sd=0.01, dof=20.0, stray=stray)}).evidence[0]
        for stray in (0.0, 30.0, 40.0)
    }
    assert [one.is_significant for one in found.values()] == [True, True, is_certain]
    assert [one.is_stray for one in found.values()] == [False, False, not is_certain]
    if n_processes == 1:
        assert math.log1p(found[40.0].floor) > 40 * 0.01 * math.sqrt(2) > math.log1p(found[0.0].floor)


@pytest.mark.parametrize(
    ("by", "outcome", "code"),
    [(1.5, Outcome.UNDECIDED, ExitCode.NOTHING_COMPARABLE), (1 / 1.5, Outcome.UNDECIDED, ExitCode.FINE),
     (3.0, Outcome.REGRESSION, ExitCode.REGRESSION), (1.02, Outcome.UNCHANGED, ExitCode.FINE)],
)  # fmt: skip
def test_it_is_undecided_and_keeps_the_gate_from_passing_where_it_looks_worse(by, outcome, code):
    base, head = row(1.0), row(by, commit=B)
    spreads = {head.series_id: Prior(sd=0.001, dof=20.0, stray=400.0)}
    judgement = judge([base], [head], base_commit=A, head_commit=B, spreads=spreads)
    [verdict] = judgement.verdicts
    assert (verdict.outcome, exit_code(judgement)) == (outcome, code)
    is_stray = outcome is Outcome.UNDECIDED
    assert verdict.why.endswith("; single values stray as far here") is is_stray
    assert ((verdict.change, verdict.is_doubtful) == (Change.UNCERTAIN, True)) is is_stray


def test_the_gate_takes_no_stray_value_for_a_regression_and_asks_to_measure_again(tmp_path, write_asv_run, timed):
    """Asked of the series that looks changed alone, whose own history has none, the machine's others tell it."""
    db, logs = str(tmp_path / "asv.db"), logs_of(60, strays=0.02)
    logs[0] = 0.01 * np.sin(np.arange(N_RUNS))
    logs[:, -2:] = 0.0
    logs[0, -1] = math.log(1.5)
    commits = [f"{day:08x}{0:032x}" for day in range(N_RUNS)]
    for day, commit in enumerate(commits):
        values = {f"s{i % 9}.time_{i}": timed(1e-3 * math.exp(log)) for i, log in enumerate(logs[:, day])}
        write_asv_run(tmp_path / "tree", values, commit=commit, date=1_700_000_000_000 + day * 86_400_000)
    with open_store(db) as store:
        store.ingest([tmp_path / "tree"])
    arguments = ["--base", commits[-2], "--head", commits[-1], "--db", db, "--format", "json"]
    answer = CliRunner().invoke(gate, arguments, standalone_mode=False, catch_exceptions=False)
    told = json.loads(answer.stdout)
    assert answer.return_value == ExitCode.NOTHING_COMPARABLE
    [found] = told["changes"]
    assert (found["benchmark"], found["outcome"]) == ("s0.time_0", "undecided")
    assert "single values stray as far here" in found["why"]
    assert "measure both commits again" in told["warnings"][0]
