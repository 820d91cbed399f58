"""Noise of equal runs: sd and floor follow what was planted, control series take out what the machine does to all."""

from __future__ import annotations

import numpy as np
import pytest

from results.judgement.comparison.moderation import Prior
from results.judgement.repeatability import noise_of
from tests.made_values import A, row

BATCHES = (1, 4, 16, 64, 256, 1024)


def runs(n_runs, *, own=0.0, machine=0.0, seed=1, providers=("eager", "fused"), batches=BATCHES, n_visits=1):
    """Rows of equal runs: `own` is each value's noise, `machine` what a run does to all of them; sds of logs."""
    random = np.random.default_rng(seed)
    rows = []
    for number in range(n_runs):
        shared = random.normal(0, machine)
        rows += [
            row(
                list(1e-3 * np.exp(shared + random.normal(0, own, n_visits))),
                provider=provider,
                batch=batch,
                run=f"run-{number}",
            )
            for provider in providers
            for batch in batches
        ]
    return rows


def surface_of(noise, provider):
    (found,) = [one for one in noise.surfaces if provider in {parameter.value for parameter in one.shared}]
    return found


def test_the_sd_from_run_to_run_is_the_one_that_was_planted():
    found = surface_of(noise_of(runs(40, own=0.02), commit=A), "fused")
    assert found.sd == pytest.approx(0.02, rel=0.25)
    assert {one.n_runs for one in found.series} == {40}


def test_sets_of_points_that_runs_measured_in_alternation_are_all_told():
    turns = zip(runs(8, batches=BATCHES[:3]), runs(8, batches=BATCHES[3:]), strict=True)
    rows = [
        one._replace(run_id=f"{one.run_id}{part}", processes=())
        for pair in turns
        for part, one in zip("ab", pair, strict=True)
    ]
    noise = noise_of(rows, commit=A)
    assert len(noise.series) == 2 * len(BATCHES)


def test_what_the_machine_does_to_all_is_taken_out_by_the_control_series():
    found = surface_of(noise_of(runs(20, own=0.003, machine=0.05), commit=A), "fused")
    assert found.sd > 0.03
    assert found.corrected_sd < 0.01
    assert found.corrected_floor < found.floor / 3


def test_without_control_series_nothing_is_taken_out():
    noise = noise_of(runs(20, own=0.003, machine=0.05, providers=("fused",)), commit=A)
    assert not noise.is_corrected
    found = surface_of(noise, "fused")
    assert found.corrected_sd == pytest.approx(found.sd)
    assert noise.floor == pytest.approx(found.floor)


def test_a_noisier_surface_has_the_larger_floor_and_comes_last():
    quiet, loud = runs(10, own=0.005), runs(10, own=0.05, providers=("compiled",), seed=2)
    noise = noise_of([*quiet, *loud], commit=A)
    assert surface_of(noise, "compiled").floor > 3 * surface_of(noise, "fused").floor
    assert noise.surfaces[-1] == surface_of(noise, "compiled")


def test_more_runs_let_smaller_changes_be_seen():
    floors = [surface_of(noise_of(runs(n, own=0.01), commit=A), "fused").floor for n in (4, 8, 32)]
    assert floors == sorted(floors, reverse=True)


def test_a_change_of_the_floor_is_found_in_most_comparisons_and_a_third_of_it_in_few():
    shares = {1.0: [], 1 / 3: []}
    for seed in range(30):
        floor = surface_of(noise_of(runs(10, own=0.01, seed=seed), commit=A), "fused").corrected_floor
        for part, found in shares.items():
            rows = runs(10, own=0.01, seed=1000 + seed)
            slowed = [slower(one, 1 + part * floor) if int(one.run_id[4:]) % 2 else one for one in rows]
            found += [one.differs for one in surface_of(noise_of(slowed, commit=A), "fused").series]
    most, few = (np.mean(found) for found in shares.values())
    assert most > 0.6
    assert few < 0.1


def slower(one, factor):
    processes = tuple(process._replace(value=process.value * factor) for process in one.processes)
    is_ours = any(parameter.value == "fused" for parameter in one.parameters)
    return one._replace(value=one.value * factor, processes=processes) if is_ours else one


def test_equal_runs_are_hardly_ever_told_apart():
    n_any = sum(
        any(one.differs for one in noise_of(runs(10, own=0.01, seed=seed), commit=A).series) for seed in range(60)
    )
    assert n_any <= 6


def test_one_run_is_told_by_the_history_of_its_series():
    rows = runs(1, own=0.01)
    spreads = {one.series_id: Prior(sd=0.03, dof=10.0) for one in rows}
    found = noise_of(rows, commit=A, spreads=spreads, corrected_spreads=spreads).series
    assert all(one.is_by_history and one.sd == pytest.approx(0.03) for one in found)
    assert not any(one.differs for one in found)
    assert all(one.floor > 0.06 for one in found)


def test_one_run_without_history_has_no_sd():
    assert {one.sd for one in noise_of(runs(1), commit=A).series} == {None}


def test_visits_within_few_runs_make_no_change_visible_that_runs_hide():
    def between(n_visits):
        return surface_of(noise_of(runs(6, machine=0.03, n_visits=n_visits, providers=("fused",)), commit=A), "fused")

    assert between(12).floor > 0.04


@pytest.mark.parametrize("value", [0.0, -5.0, np.inf])
@pytest.mark.parametrize("n_runs", [1, 10])
def test_numbers_that_have_no_ratio_are_left_out(value, n_runs):
    odd = [row([1e-3, value], provider="odd", run=f"run-{number}") for number in range(n_runs)]
    every = runs(n_runs, own=0.01)
    assert noise_of([*every, *odd], commit=A) == noise_of(every, commit=A)


def test_exact_and_failed_values_are_left_out():
    counts = row(3.0, metric="operator_count")
    assert noise_of([counts], commit=A).surfaces == ()
    assert noise_of([], commit=A).floor is None


@pytest.mark.parametrize("providers", [("fused",), ("eager", "fused")])
def test_one_run_alone_tells_no_series_to_be_quiet_however_many_it_measured(providers):
    """It is held against itself; that nothing of it moves is no sign of little noise."""
    few, many = (noise_of(runs(1, own=0.02, providers=providers, batches=range(1, n)), commit=A) for n in (4, 60))
    assert many.floor == pytest.approx(few.floor)
    assert few.floor > 0.09
    assert all(one.sd is None for one in many.series)


def test_what_others_that_ran_twice_show_is_usual_for_those_that_ran_once():
    twice, once = runs(2, own=0.02, batches=range(1, 60)), runs(1, own=0.02, batches=range(60, 160))
    both, alone = noise_of([*twice, *once], commit=A), noise_of(twice, commit=A)
    assert both.floor == pytest.approx(alone.floor, rel=0.3)
