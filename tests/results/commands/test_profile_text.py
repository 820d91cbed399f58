"""What `fusebench profile` prints of a profile's second pass, as text and as JSON, and where its trace lies."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from results.commands.profile import profile
from results.exit_codes import ExitCode

ONE_POINT = ("--where", "operation=mlp", "--where", "provider=fused", "--where", "batch=64", "--where", "hidden=1024")
GAP = {"duration_s": 3.1e-5, "after": "nvjet_tst_64x16_64x16_4x2_h_bz_TNT", "before": "Memset (Device)"}
ON_A_GPU = {
    "kernels": [{"name": "nvjet_tst_64x16_64x16_4x2_h_bz_TNT", "count": 2, "device_time_s": 1.1e-5}],
    "operators": [
        {
            "name": "aten::addmm",
            "count": 3,
            "self_time_s": 3e-5,
            "total_time_s": 4e-5,
            "is_compute": True,
            "inputs": ["bfloat16[2]", "bfloat16[3]", "bfloat16[4]"],
            "allocated_bytes": 2000,
            "min_bytes": 3000,
        }
    ],
    "gap_count": 5,
    "gap_time_s": 7.2e-5,
    "longest_gap_s": 3.1e-5,
    "device_busy_s": 1.9e-5,
    "gaps": [GAP],
    "runtime_calls": [{"name": "cudaGraphLaunch", "kind": "launch", "count": 1, "time_s": 9e-6}],
    "missing": {"operators_min_bytes": "mine::op: no rule"},
}


def run_profile(database, *arguments):
    return CliRunner().invoke(profile, [*arguments, "--db", database], standalone_mode=False)


def test_inputs_memory_gaps_and_runtime_calls_are_printed_in_words(stored):
    printed = run_profile(stored("cuda", **ON_A_GPU), *ONE_POINT).stdout
    for words in (
        "products by cuBLASLt",
        "bfloat16[2]; bfloat16[3]; 1 more",
        "2 kB",
        "3 kB",
        "The device was busy for 19 µs of a call, and idle for 72 µs in 5 gaps between, 31 µs the longest.",
        "matrix product · cuBLASLt · bfloat16 · tile 64x16x64 · tn · 16 stages → fill · CUDA",
        "cudaGraphLaunch",
        "not known: the least its operators must move (mine::op: no rule)",
    ):
        assert words in printed


def test_a_device_that_never_waits_has_no_gap(stored):
    assert "without a gap" in run_profile(stored("cuda", gap_count=0, device_busy_s=1e-6), *ONE_POINT).stdout


def test_on_a_cpu_it_says_which_library_is_not_known_and_nothing_of_a_device(stored):
    none = dict.fromkeys(("gap_count", "device_busy_s", "runtime_calls"), "a CPU has none")
    printed = run_profile(stored(missing=none), *ONE_POINT).stdout
    assert "not known: the products' library (aten::addmm calls a library that torch was built with" in printed
    assert "a CPU has none" not in printed


def test_json_has_all_of_it_with_the_kernels_decoded(stored):
    found = json.loads(run_profile(stored("cuda", **ON_A_GPU), *ONE_POINT, "--format", "json").stdout)
    assert found["point"]["provider"] == "fused"
    assert [{name: gap[name] for name in GAP} for gap in found["gaps"]] == [GAP]
    assert found["runtime_calls"] == ON_A_GPU["runtime_calls"]
    assert found["operators"][0]["inputs"] == ON_A_GPU["operators"][0]["inputs"]
    (kernel,) = found["kernels"]
    assert (kernel["author"], kernel["tile"], kernel["dtype"]) == ("cuBLASLt", "64x16x64", "bfloat16")
    assert kernel["name"] == ON_A_GPU["kernels"][0]["name"]
    assert found["product_libraries"] == ["cuBLASLt"]
    assert found["missing"] == ON_A_GPU["missing"]
    assert found["trace"] is None


def test_the_path_of_a_trace_is_printed_with_how_to_open_it(stored, tmp_path):
    database = stored(trace="a trace.json.gz")
    gone = run_profile(database, *ONE_POINT, "--trace")
    assert (gone.return_value, gone.stdout) == (ExitCode.NOTHING_COMPARABLE, "")
    assert "which is no longer there" in gone.stderr
    kept = tmp_path / "stacks" / "traces" / "a trace.json.gz"
    kept.parent.mkdir()
    kept.write_bytes(b"")
    answer = run_profile(database, *ONE_POINT, "--trace")
    assert (answer.return_value, answer.stdout) == (ExitCode.FINE, f"{kept}\n")
    assert "https://ui.perfetto.dev" in answer.stderr
    as_json = json.loads(run_profile(database, *ONE_POINT, "--format", "json").stdout)
    assert as_json["trace"] == str(kept)


def test_without_a_trace_it_says_how_to_keep_one(stored):
    answer = run_profile(stored(), *ONE_POINT, "--trace")
    assert answer.return_value == ExitCode.NOTHING_COMPARABLE
    assert "batches = [64]\n" in answer.stderr
    assert "hiddens = [1024]\n" in answer.stderr
    assert "\nFUSEBENCH_TRACES=64 FUSEBENCH_THREADS=2 fusebench run --axes point.toml --again" in answer.stderr


def test_a_trace_and_stacks_are_not_printed_at_once():
    answer = run_profile("unused", *ONE_POINT, "--trace", "--stacks", "host")
    assert "give one of them" in answer.exception.message


@pytest.mark.parametrize("asked", [("--trace",), ("--stacks", "host")])
def test_json_is_of_the_profile_alone(asked):
    answer = run_profile("unused", *ONE_POINT, "--format", "json", *asked)
    assert "--format json is of the profile" in answer.exception.message


@pytest.mark.parametrize(("self_time_s", "is_told"), [(2e-5, False), (4e-5, True)])
def test_operators_that_took_longer_than_the_fastest_call_are_told_to_be_means(stored, self_time_s, is_told):
    operator = {**ON_A_GPU["operators"][0], "self_time_s": self_time_s}
    wrapper = {**operator, "name": "aten::linear", "self_time_s": 1.0, "is_compute": False}
    database = stored("cpu", operator_time_s=2e-5, operators=[operator, wrapper])
    printed = run_profile(database, *ONE_POINT).stdout
    assert ("Operators are listed by the mean of the profiled calls, 40 µs of computing" in printed) is is_told


def test_values_that_are_stored_but_not_together_are_told_to_be_so(stored):
    refused = run_profile(stored("cpu"), "--where", "hidden=1024", "--where", "dim=64")
    assert (
        "No stored measurement matches the selection. Each of these values is stored, but not together"
        in refused.stderr
    )
