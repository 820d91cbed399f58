"""What asv is handed."""

import math
import os
import subprocess
import sys

import pytest
from asv_runner.benchmarks.time import TimeBenchmark

from benchmarks.ruler.plan.points import Contender
from benchmarks.ruler.plan.presets import PRESETS
from benchmarks.ruler.record.provenance import RULER_VERSION
from benchmarks.ruler.replay import models
from benchmarks.ruler.replay import suite as suite_module
from benchmarks.ruler.replay.suite import PARAM_NAMES, Recorded, Replay, Track, parameters


@pytest.fixture
def set_settings(monkeypatch):
    """Set variables for the settings that a process of asv's reads once."""

    def set_variables(**variables):
        for name, text in variables.items():
            monkeypatch.setenv(name, text)
        for cached in (suite_module.suite_settings, suite_module.suite_axes, suite_module.suite_device):
            cached.cache_clear()
        suite_module._refuse_uncommitted_changes_once.cache_clear()

    yield set_variables
    monkeypatch.undo()
    set_variables()


@pytest.fixture
def suite(set_settings):
    set_settings(FUSEBENCH_UNCOMMITTED="1", FUSEBENCH_DEVICE="cuda")

    class Mlp(Recorded):
        operation = "mlp"

    return Mlp()


PARAMS = ("fused", 8, 64, "hidden/4", "float32", "gelu", "warm")


@pytest.fixture
def recording(shape):
    from dataclasses import replace

    at = replace(shape, batch=8, hidden=64, dim=16)
    return {
        (at, Contender(provider="fused")): Track(reason=None, samples_s=(3e-6, 1e-6, 2e-6), operator_count=1.0),
        (at, Contender(provider="compiled")): Track(reason="crashed: it raised", samples_s=()),
    }


def test_asv_reads_exactly_the_recorded_samples(suite, recording):
    benchmark = TimeBenchmark("mlp.Mlp.time_forward", suite.time_forward, [suite.time_forward, suite])
    benchmark._current_params = PARAMS
    benchmark.set_cache(recording)
    assert not benchmark.do_setup()
    assert benchmark.do_run() == {"samples": [3e-6, 1e-6, 2e-6], "number": 1}


def test_the_version_of_every_benchmark_in_asv_is_the_rulers(suite):
    names = [name for name in dir(suite) if name.startswith(("time_", "track_"))]
    for name in names:
        function = getattr(suite, name)
        assert TimeBenchmark(f"mlp.Mlp.{name}", function, [function, suite]).version == RULER_VERSION
    assert len(names) == 6


def test_a_point_that_failed_is_not_available_to_asv_with_its_reason(suite, recording):
    with pytest.raises(NotImplementedError, match="crashed: it raised"):
        suite.setup(recording, "compiled", *PARAMS[1:])


def test_a_point_that_was_not_measured_is_not_available_to_asv(suite, recording):
    with pytest.raises(NotImplementedError, match="not among those measured"):
        suite.setup(recording, "eager", *PARAMS[1:])


def test_a_number_that_is_not_known_is_nan_to_asv_and_never_zero(suite, recording):
    suite.setup(recording, *PARAMS)
    assert suite.track_operator_count() == 1.0
    assert math.isnan(suite.track_kernel_launches())
    assert math.isnan(suite.track_device_time())


def test_what_only_a_gpu_has_is_no_benchmark_on_a_cpu(set_settings):
    set_settings(FUSEBENCH_UNCOMMITTED="1", FUSEBENCH_DEVICE="cpu")

    class Mlp(Recorded):
        operation = "mlp"

    found = {name for name in dir(Mlp) if name.startswith("track_") and getattr(Mlp, name) is not None}
    assert found == {"track_operator_count", "track_peak_memory"}


@pytest.mark.parametrize(("device", "dtypes"), [("cpu", ("float32",)), ("cuda", ("bfloat16",))])
def test_asv_is_offered_the_dtypes_of_this_device_alone(set_settings, device, dtypes):
    set_settings(FUSEBENCH_DEVICE=device)
    assert dict(zip(PARAM_NAMES, parameters("mlp"), strict=True))["dtype"] == dtypes


def test_axes_without_a_dtype_for_this_device_still_have_a_point_for_asv(set_settings, tmp_path):
    (tmp_path / "axes.toml").write_text('dtypes.cpu = ["float16"]\n')
    set_settings(FUSEBENCH_DEVICE="cuda", FUSEBENCH_AXES=str(tmp_path / "axes.toml"))
    assert all(parameters("mlp"))


def test_the_parameters_are_those_fixed_from_the_first_day():
    assert PARAM_NAMES == ("provider", "batch", "hidden", "dim", "dtype", "activation", "cache")
    assert len(parameters("mlp")) == len(PARAM_NAMES)
    assert all(type(value) in {str, int} for values in parameters("mlp") for value in values)


def test_asv_is_offered_the_values_of_all_parts_of_the_axes_for_an_operation_and_one_point_of_one_left_out(
    set_settings,
):
    set_settings(FUSEBENCH_AXES="campaign")
    values = {
        operation: dict(zip(PARAM_NAMES, parameters(operation), strict=True)) for operation in ("mlp", "gated_mlp")
    }
    assert values["mlp"]["hidden"] == (256, 512, 1024, 3072, 4096)
    assert values["mlp"]["dim"] == ("hidden/4",)
    assert values["gated_mlp"]["dim"] == (2048, 4096)
    assert values["gated_mlp"]["hidden"] == (5632, 11008, 14336)
    assert [len(of_one) for of_one in parameters("linear")] == [1] * len(PARAM_NAMES)


@pytest.fixture
def models_suite(set_settings):
    def build(axes):
        set_settings(FUSEBENCH_UNCOMMITTED="1", FUSEBENCH_DEVICE="cpu", FUSEBENCH_AXES=axes)

        class Models(models.ByModel, Recorded):
            params = models.parameters()

        return Models

    return build


def names_of(suite):
    return {name for name in dir(suite) if name.startswith(("time_", "track_")) and getattr(suite, name) is not None}


def test_models_are_a_suite_of_their_own_by_provider_batch_and_model(models_suite):
    suite = models_suite("models")
    values = dict(zip(suite.param_names, suite.params, strict=True))
    assert values["model"] == tuple(PRESETS)
    assert values["batch"] == (1, 64, 512)
    assert {"eager", "compiled", "fused"} < set(values["provider"])
    assert names_of(suite) == {"time_forward", "track_operator_count", "track_peak_memory"}
    # The operations' suites do not offer every width at every other.
    assert [len(of_one) for of_one in parameters("mlp")] == [1] * len(PARAM_NAMES)


def test_a_models_point_is_replayed_by_its_name(models_suite, shape):
    from dataclasses import replace

    suite = models_suite("models")()
    preset = PRESETS["gpt2"]
    at = replace(shape, batch=64, hidden=preset.hidden, dim=preset.dim, activation=preset.activation)
    recording = {(at, Contender(provider="fused")): Track(reason=None, samples_s=(2e-6,), operator_count=1.0)}
    suite.setup(recording, "fused", 64, "gpt2", "float32", "warm")
    assert suite.track_operator_count() == 1.0
    with pytest.raises(NotImplementedError, match="not among those measured"):
        suite.setup(recording, "fused", 64, "bert-base", "float32", "warm")


def test_without_a_model_in_the_axes_asv_finds_no_benchmark_of_models(models_suite):
    suite = models_suite("quick")
    assert suite.params == []
    assert names_of(suite) == set()


def test_a_replay_gives_each_sample_once_in_order():
    timer = Replay([1.0, 2.0])
    starts_and_ends = [timer() for _ in range(4)]
    assert [starts_and_ends[1] - starts_and_ends[0], starts_and_ends[3] - starts_and_ends[2]] == [1.0, 2.0]


def test_discovery_imports_little_no_torch_and_finds_only_ours(request):
    script = (
        "import sys\n"
        "from asv_runner.discovery import disc_benchmarks\n"
        "n_before = len(sys.modules)\n"
        "names = [benchmark.name for benchmark in disc_benchmarks('benchmarks')]\n"
        "print(len(sys.modules) - n_before, 'torch' in sys.modules, *names)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=request.config.rootpath,
        env={**os.environ, "FUSEBENCH_UNCOMMITTED": "1", "FUSEBENCH_DEVICE": "cuda", "PYTHONPATH": "."},
        capture_output=True,
        text=True,
        check=True,
    )
    n_imported, has_torch, *names = done.stdout.split()
    suites = {"linear.Linear", "mlp.Mlp", "gated_mlp.GatedMlp"}
    metrics = (
        "time_forward",
        "track_kernel_launches",
        "track_operator_count",
        "track_device_time",
        "track_peak_memory",
    )
    assert sorted(names) == sorted(f"{suite}.{metric}" for suite in suites for metric in metrics)
    assert has_torch == "False"
    assert int(n_imported) < 100, "asv imports the suites once for each benchmark and parameter"
