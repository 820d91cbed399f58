"""Exit codes of `gate` as a shell sees them: the real command on stores filled by the real `ingest`."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from fusebench import cli
from results.exit_codes import ExitCode

A, B = "a" * 40, "b" * 40
THROUGHPUT = "suite.track_rows_per_s"
HIGHER_IS_BETTER = f'[[tool.fusebench.threshold]]\nbenchmark = "{THROUGHPUT}"\nbetter = "higher"\n'


@pytest.fixture
def fusebench(tmp_path, monkeypatch):
    """Run the real command outside of any repository, on a database of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FUSEBENCH_DB", str(tmp_path / "codes.db"))

    def run(*arguments):
        return CliRunner().invoke(cli, [str(argument) for argument in arguments], standalone_mode=False)

    return run


@pytest.fixture
def gated(fusebench, tmp_path, journals):
    """Ingest sweeps and judge B against A; the code, and what JSON says."""

    def gate(*sweeps, base=A, head=B):
        journals.write_journals(tmp_path / "data", list(sweeps))
        fusebench("ingest", "data")
        answer = fusebench("gate", "--base", base, "--head", head, "--format", "json")
        return answer.return_value, json.loads(answer.stdout) if answer.stdout else None

    return gate


@pytest.fixture
def sweep(journals):
    return journals.Sweep(commit=A, operations=("mlp",), n_visits=3, ruler_version="3")


def test_nothing_measured_is_3(gated, sweep):
    code, _ = gated(sweep, replace(sweep, commit=B, machine="elsewhere"))
    assert code == ExitCode.NOTHING_COMPARABLE


@pytest.mark.parametrize("missing", [{"base": "c" * 40}, {"head": "c" * 40}])
def test_a_missing_side_is_3(gated, sweep, missing):
    code, document = gated(sweep, replace(sweep, commit=B), **missing)
    assert (code, document["exit_code"], document["findings"]) == (ExitCode.NOTHING_COMPARABLE, 3, [])
    assert "nothing is stored for cccc" in document["why"]


@pytest.mark.parametrize(
    ("base", "head", "expected", "turns"),
    [
        ("ok", "crashed", ExitCode.FAILED, ["failed"]),
        ("ok", "wrong", ExitCode.FAILED, ["failed"]),
        ("crashed", "ok", ExitCode.FINE, ["fixed"]),
        ("crashed", "crashed", ExitCode.FINE, []),
        ("crashed", "timed_out", ExitCode.FINE, []),
    ],
)
def test_one_side_failed(gated, sweep, base, head, expected, turns):
    states = [{} if state == "ok" else {("mlp", "fused"): state} for state in (base, head)]
    code, document = gated(replace(sweep, states=states[0]), replace(sweep, commit=B, states=states[1]))
    assert code == expected
    assert sorted({finding["turn"] for finding in document["findings"]}) == turns


def test_gone_is_2_and_other_axes_are_0(gated, sweep, fusebench):
    code, document = gated(sweep, replace(sweep, commit=B, providers=("eager", "compiled")))
    assert code == ExitCode.FAILED
    [why] = {finding["why"] for finding in document["findings"]}
    assert why == "gone: the head did not measure it"
    code, document = gated(replace(sweep, commit="c" * 40, batches=(1,)), head="c" * 40)
    assert (code, document["findings"]) == (ExitCode.FINE, [])
    assert document["compared"] < document["of_base"]


def test_known_is_0_and_what_comes_on_top_is_1(gated, sweep, fusebench):
    slow = replace(sweep, commit=B, slowdowns={("mlp", "fused"): 1.5})
    assert gated(sweep, slow)[0] == ExitCode.REGRESSION
    fusebench("store", "acknowledge", B, "--note", "pays for accuracy")
    code, document = gated()
    assert code == ExitCode.FINE
    assert {(finding["turn"], finding["state"]) for finding in document["findings"]} == {("slower", "acknowledged")}
    worse = replace(slow, commit="c" * 40, slowdowns={("mlp", "fused"): 2.5})
    assert gated(worse, head="c" * 40)[0] == ExitCode.REGRESSION


@pytest.mark.parametrize(
    ("settings", "factor", "expected"),
    [
        (HIGHER_IS_BETTER, 0.5, ExitCode.REGRESSION),
        (HIGHER_IS_BETTER, 2.0, ExitCode.FINE),
        (HIGHER_IS_BETTER.replace("higher", "lower"), 2.0, ExitCode.REGRESSION),
        ("", 0.5, ExitCode.FINE),  # nobody said which way is better
    ],
)
def test_of_a_throughput_less_is_a_regression(fusebench, tmp_path, write_asv_run, timed, settings, factor, expected):
    (tmp_path / "pyproject.toml").write_text(settings)
    for day, (commit, value) in enumerate(((A, 1e6), (B, 1e6 * factor))):
        write_asv_run(
            tmp_path / "tree", {THROUGHPUT: timed(value)}, commit=commit, date=1_700_000_000_000 + day * 86_400_000
        )
    fusebench("ingest", "tree", "--project", "p")
    assert fusebench("gate", "--base", A, "--head", B).return_value == expected


class TestLostFusion:
    """One call became three operators, and its time is what it was, as far as this machine can tell."""

    @pytest.fixture
    def compared(self, fusebench, tmp_path, journals):
        def compare(*options, n_operators, slowdown):
            sweep = journals.Sweep(operations=("mlp",), noise=0.04, n_visits=3, ruler_version="3")
            for commit, factor in ((A, 1.0), (B, slowdown)):
                lines = journals.lines_of(replace(sweep, commit=commit, slowdowns={("mlp", "fused"): factor}))
                for line in lines:
                    if commit == B and line["kind"] == "profile" and line["point"]["provider"] == "fused":
                        line["operator_count"] = n_operators
                path = tmp_path / "data" / "journal" / "m" / f"{commit}.jsonl"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("".join(json.dumps(line) + "\n" for line in lines))
            assert fusebench("ingest", "data").return_value == ExitCode.FINE
            answer = fusebench("gate", "--base", A, "--head", B, "--format", "json", *options)
            return answer.return_value, json.loads(answer.stdout)["findings"]

        return compare

    def test_it_fails_the_gate_by_its_operators_alone(self, compared):
        code, [finding] = compared(n_operators=3, slowdown=1.02)
        assert code == ExitCode.REGRESSION
        assert (finding["metric"], finding["turn"], finding["state"]) == ("operator_count", "slower", "confirmed")
        assert finding["shared"]["provider"] == "fused"
        assert (finding["ratio"], len(finding["points"]), finding["n_points"]) == (1.5, 4, 4)

    def test_the_same_time_with_the_same_operators_passes(self, compared):
        assert compared(n_operators=2, slowdown=1.02) == (ExitCode.FINE, [])

    def test_exact_metrics_alone_see_it_and_no_time(self, compared):
        code, [finding] = compared("--exact", n_operators=3, slowdown=3.0)
        assert (code, finding["metric"]) == (ExitCode.REGRESSION, "operator_count")
        assert compared("--exact", n_operators=2, slowdown=3.0) == (ExitCode.FINE, [])


def test_exact_metrics_alone_see_what_fails(gated, sweep, fusebench):
    gated(sweep, replace(sweep, commit=B, states={("mlp", "fused"): "crashed"}))
    assert fusebench("gate", "--base", A, "--head", B, "--exact").return_value == ExitCode.FAILED


def test_what_fails_by_another_ruler_than_the_bases_is_3(gated, sweep, fusebench):
    head = replace(sweep, commit=B, run_id="new", providers=("fused",), ruler_version="4")
    old = replace(sweep, commit=B, providers=("eager", "compiled"))
    code, document = gated(sweep, old, replace(head, states={("mlp", "fused"): "wrong"}))
    assert (code, document["exit_code"]) == (ExitCode.NOTHING_COMPARABLE, 3)
    [told] = document["warnings"]
    assert told.startswith("4 series fail at the head, which another ruler measured there")
    assert "is wrong, fused is wrong in this test. It may be the commit or the ruler" in told
    assert told in fusebench("gate", "--base", A, "--head", B).stderr
