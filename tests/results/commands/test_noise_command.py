"""`fusebench noise`: rounds of runs of one commit, stored as ever; what is stored alone; and refusals."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from results.commands.measuring import tower
from results.commands.measuring.noise import noise
from results.exit_codes import ExitCode
from results.judgement.repeatability import MeasuredNoise, SeriesNoise, SurfaceNoise
from results.output.reports.noise_report import noise_as_text
from results.rows import ParameterValue
from tests.made_values import row

A = "a" * 40


def run(*arguments, **options):
    return CliRunner().invoke(noise, list(arguments), standalone_mode=False, catch_exceptions=False, **options)


@pytest.fixture
def measuring(tmp_path, monkeypatch, journals):
    """Stand in for the measuring tower: each call stores another run of one commit; the list of their options."""
    monkeypatch.setenv("FUSEBENCH_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("FUSEBENCH_DB", raising=False)
    calls = []

    def measure(checkout, options, place, *, stdout=None):
        from results.commands.ingest import ingest

        click.echo("values stored, as ingest says")
        number = len(calls)
        calls.append(list(options))
        sweep = journals.Sweep(commit=A, run_id=f"run-{number}", operations=("mlp",), n_visits=3)
        later = replace(sweep, commit_date=sweep.commit_date + timedelta(minutes=number))
        journals.write_journals(place.data, [later])
        with click.Context(noise):
            tower.call_command(ingest, [str(place.data), *place.db_option])
        return tower.Measured(exit_code=ExitCode.FINE, selection=[A, "--where", "operation=mlp"])

    monkeypatch.setattr(tower, "measure", measure)
    return calls


def test_every_round_is_another_run_of_the_same_points(measuring):
    answer = run("--rounds", "4", "--operation", "mlp", "--batch", "16")
    assert answer.return_value == ExitCode.FINE
    headings = [f"Round {number} of 4: another run of the same commit." for number in range(1, 5)]
    assert measuring == [
        ["--directly", "noise", "--again", "--heading", heading, "--operation", "mlp", "--batch", "16"]
        for heading in headings
    ]
    assert "aaaaaaaa: 12 points in 4 runs" in answer.stdout
    assert "mlp latency_s [pass=forward, provider=fused, weights=plain]" in answer.stdout
    assert "are invisible here" in answer.stdout
    assert "A/A: 0 of 12 points differ" in answer.stdout


def test_what_is_stored_is_told_without_measuring(measuring):
    run("--rounds", "3")
    n_calls = len(measuring)
    db = str(Path(tower.place_of(Path(), is_recorded=True).db))
    answer = run(
        "--from-store", "--db", db, "--where", "operation=mlp", "--where", "provider=fused", "--format", "json"
    )
    assert len(measuring) == n_calls
    document = json.loads(answer.stdout)
    assert {one["parameters"]["provider"] for one in document["series"]} == {"fused"}
    assert {(one["runs"], one["processes"]) for one in document["series"]} == {(3, 9)}
    assert document["n_controls"] == 4


def test_json_of_what_was_just_measured_is_all_that_is_printed(measuring):
    assert json.loads(run("--rounds", "2", "--format", "json").stdout)["commit"] == A


def test_a_run_that_fails_to_start_ends_it_with_its_exit_code(monkeypatch, tmp_path):
    monkeypatch.setenv("FUSEBENCH_DATA", str(tmp_path))
    monkeypatch.setattr(tower, "measure", lambda *_, **__: tower.Measured(exit_code=64, selection=None))
    assert run("--rounds", "2").return_value == 64


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--from-store", "--batch", "16"), "--from-store measures nothing"),
        (("--where", "batch=16"), "give --from-store, too"),
        (("--again",), "another run anyway"),
    ],
)
def test_options_that_do_not_belong_together_are_refused(arguments, message):
    with pytest.raises(click.UsageError, match=message):
        run(*arguments)


def test_a_store_without_anything_says_how_to_fill_it(tmp_path):
    from results.store import open_store

    open_store(str(tmp_path / "empty.db")).close()
    assert run("--from-store", "--db", str(tmp_path / "empty.db")).return_value == ExitCode.NOTHING_COMPARABLE


def test_of_another_suite_its_own_runner_is_named_and_not_ours(tmp_path, write_asv_run, timed):
    from results.store import open_store

    write_asv_run(tmp_path / "tree", {"s.time_it": timed(1e-3), "s.track_sign": timed(-1.0)}, commit=A)
    with open_store(str(tmp_path / "asv.db")) as store:
        store.ingest([tmp_path / "tree"])
    answer = run("--from-store", "--db", str(tmp_path / "asv.db"))
    assert answer.return_value == ExitCode.FINE
    told = " ".join(answer.stdout.split())
    assert "The suite's own runner can measure the commit again." in told
    assert "More runs of the suite's own runner" in told
    assert "s.track_sign" not in told
    assert "--rounds" not in told


def test_of_many_surfaces_the_noisiest_are_listed_and_all_if_asked_for(tmp_path, write_asv_run, timed):
    from results.store import open_store

    names = [f"s.time_{i:02}" for i in range(25)]
    for day in range(12):
        noisy = {name: timed(1e-3 * (1 + 0.002 * i * (day % 2))) for i, name in enumerate(names)}
        commit, date = f"{day:08x}{0:032x}", 1_700_000_000_000 + day * 86_400_000
        write_asv_run(tmp_path / "tree", noisy, commit=commit, date=date)
    with open_store(str(tmp_path / "asv.db")) as store:
        store.ingest([tmp_path / "tree"])
    told = run("--from-store", "--db", str(tmp_path / "asv.db")).stdout
    assert [name for name in names if f"{name} " in told] == names[5:]
    assert "5 more surfaces, less noisy; all of them: --all" in told
    told = run("--from-store", "--all", "--db", str(tmp_path / "asv.db")).stdout
    assert [name for name in names if f"{name} " in told] == names
    assert "--all" not in told


def test_a_benchmark_of_two_environments_has_a_row_of_each_that_tells_them_apart(tmp_path, write_asv_run, timed):
    from results.store import open_store

    for env in ("py3.11", "py3.12"):
        write_asv_run(tmp_path / "tree", {"s.time_it": timed(1e-3)}, commit=A, env=env)
    with open_store(str(tmp_path / "asv.db")) as store:
        store.ingest([tmp_path / "tree"])
    told = run("--from-store", "--db", str(tmp_path / "asv.db")).stdout
    assert [told.count(f"s.time_it on laptop, {env}") for env in ("py3.11", "py3.12")] == [1, 1]


def test_the_gate_tells_of_what_did_not_change_the_floor_that_its_history_tells(tmp_path, write_asv_run, timed):
    """Of single processes: what is usual among series would be said to hide changes of twice the size."""
    from results.commands.judging.gate import gate
    from results.store import open_store

    db, commits = str(tmp_path / "asv.db"), [f"{day:08x}{0:032x}" for day in range(20)]
    for day, commit in enumerate(commits):
        values = {f"s.time_{i}": timed(1e-3 * (1 + 0.002 * ((day * (i + 3)) % 5))) for i in range(6)}
        write_asv_run(tmp_path / "tree", values, commit=commit, date=1_700_000_000_000 + day * 86_400_000)
    with open_store(db) as store:
        store.ingest([tmp_path / "tree"])
    arguments = ["--base", commits[17], "--head", commits[18], "--db", db, "--format", "json"]
    told = json.loads(CliRunner().invoke(gate, arguments, standalone_mode=False, catch_exceptions=False).stdout)
    assert told["counts"]["unchanged"] == told["with_floor"] == 6
    assert told["verdicts"]["same"] == 6
    noisy = json.loads(run("--from-store", "--db", db, "--revision", commits[18], "--format", "json").stdout)
    assert told["floor"] == pytest.approx(noisy["floor"], rel=0.2)
    assert told["floor"] < 0.08


def noise_by_floors(*, n_controls):
    """Noise of two surfaces of two points, of which the floor of one is the larger the smaller its corrected one is."""

    def point(provider, batch, floor):
        return SeriesNoise(
            row=row(1.0, provider=provider, batch=batch), n_runs=2, n_processes=2, n_disturbed=0, sd=None,
            corrected_sd=None, floor=floor, corrected_floor=0.1 / floor, is_by_history=False, differs=False,
        )  # fmt: skip

    made = {"fused": (0.11, 0.12), "compiled": (0.41, 0.42)}
    surfaces = [
        SurfaceNoise(row=each[0].row, shared=(ParameterValue(name="provider", value=provider),), series=tuple(each))
        for provider, floors in made.items()
        for each in [[point(provider, batch, floor) for batch, floor in enumerate(floors, 1)]]
    ]
    by_correction = tuple(sorted(surfaces, key=lambda surface: surface.corrected_floor))
    return MeasuredNoise(commit=A, surfaces=by_correction, n_controls=n_controls)


def test_the_noisiest_is_so_by_the_floor_that_is_shown():
    told = noise_as_text(noise_by_floors(n_controls=3))
    assert told.index("provider=fused") < told.index("provider=compiled")
    assert "noisiest: < 42.0 % at batch=2" in told
    assert "provider=compiled" in noise_as_text(noise_by_floors(n_controls=3), limit=1)
    corrected = noise_as_text(noise_by_floors(n_controls=5))
    assert corrected.index("provider=compiled") < corrected.index("provider=fused")
    assert "noisiest: < 24.4 % at batch=1" in corrected


def test_only_columns_that_are_there_are_explained():
    told = noise_as_text(noise_by_floors(n_controls=3))
    assert "invisible: a smaller change" in told
    assert "varies by" not in told
    assert "so corrected" not in told
    assert "so corrected: with" in noise_as_text(noise_by_floors(n_controls=5))
