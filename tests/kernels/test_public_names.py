"""The names that other people's code depends on: the package's, its operators' and its environment variables."""

import inspect
from importlib.resources import files

import pytest
import torch

import fused_mlp

NAMES = """
    Activation Choice FusedGatedMLP FusedLinear FusedMLP FusedMlpError FusionReport Implementation InvalidArgument
    Operation PackReport PreparationReport Recompute Unavailable build choice_for fuse fused gated_mlp linear mlp
    prepare reference unfuse why_not_for_shape why_unavailable
"""
PARAMETERS = {
    "linear": "x w b activation implementation recompute",
    "mlp": "x w1 b1 w2 b2 activation implementation recompute",
    "gated_mlp": "x w_gate w_up w_down activation implementation recompute",
    "fuse": "model mode include exclude prepare rows recompute",
    "fused": "model mode include exclude prepare rows recompute",
    "unfuse": "model",
    "prepare": "model rows implementation",
    "choice_for": "operation rows dim hidden device dtype packed activation",
    "why_unavailable": "operation device implementation",
    "why_not_for_shape": "operation implementation rows dim hidden n_out dtype capability activation",
}
OPTIONS = "str activation, str? implementation=None, str? recompute=None"
SCHEMAS = {
    "linear": f"(Tensor x, Tensor w, Tensor? b, {OPTIONS}) -> Tensor",
    "linear_keeping": f"(Tensor x, Tensor w, Tensor? b, {OPTIONS}) -> (Tensor y, Tensor z)",
    "mlp": f"(Tensor x, Tensor w1, Tensor? b1, Tensor w2, Tensor? b2, {OPTIONS}) -> Tensor",
    "mlp_keeping": (
        f"(Tensor x, Tensor w1, Tensor? b1, Tensor w2, Tensor? b2, {OPTIONS}) -> (Tensor y, Tensor z, Tensor hidden)"
    ),
    "gated_mlp": f"(Tensor x, Tensor w_gate, Tensor w_up, Tensor w_down, {OPTIONS}) -> Tensor",
    "gated_mlp_keeping": (
        f"(Tensor x, Tensor w_gate, Tensor w_up, Tensor w_down, {OPTIONS})"
        " -> (Tensor y, Tensor z, Tensor up, Tensor hidden)"
    ),
    "linear_gradients": (
        "(Tensor? dy, Tensor? dz, Tensor? x, Tensor? w, Tensor? b, Tensor? z, str activation, bool[3] needed)"
        " -> (Tensor, Tensor, Tensor)"
    ),
    "linear_dz": "(Tensor dy, Tensor z, str activation, bool with_bias) -> (Tensor, Tensor)",
    "mlp_dz": (
        "(Tensor dy, Tensor w2, Tensor z, str activation, bool with_hidden, bool with_bias) -> (Tensor, Tensor, Tensor)"
    ),
}
PACKED = ("pack", *(f"{name}_{layout}" for name in ("linear", "mlp", "gated_mlp") for layout in ("packed", "onednn")))


def test_the_package_offers_these_names_and_no_others():
    assert sorted(fused_mlp.__all__) == sorted(NAMES.split())
    assert all(hasattr(fused_mlp, name) for name in fused_mlp.__all__)


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_function_takes_these_arguments(name):
    assert list(inspect.signature(getattr(fused_mlp, name)).parameters) == PARAMETERS[name].split()


@pytest.mark.parametrize("name", SCHEMAS)
def test_an_operator_has_this_schema_which_graphs_and_scripts_have_saved(name):
    assert str(getattr(torch.ops.fused_mlp, name).default._schema) == f"fused_mlp::{name}{SCHEMAS[name]}"


@pytest.mark.usefixtures("cpu_kernels")
@pytest.mark.parametrize("name", PACKED)
def test_packed_weights_have_operators_of_these_names(name):
    assert hasattr(torch.ops.fused_mlp, name)


def test_the_closed_choices_are_spelt_as_before():
    assert [*fused_mlp.Activation] == ["relu", "gelu", "gelu_tanh", "silu", "quick_gelu"]
    on_cuda = ["pointwise", "epilogue", "cublaslt", "single", "cuda"]
    assert [*fused_mlp.Implementation] == ["pure", "cpp", "onednn", *on_cuda]
    assert [*fused_mlp.Operation] == ["linear", "mlp", "gated_mlp"]
    assert [*fused_mlp.Recompute] == ["all", "activation", "nothing"]


def test_the_package_is_typed_for_those_who_use_it():
    assert (files("fused_mlp") / "py.typed").is_file()


def test_the_cache_may_be_named_by_the_environment(monkeypatch, tmp_path):
    from fused_mlp.native.libraries import library_path

    monkeypatch.setenv("FUSED_MLP_CACHE", str(tmp_path))
    assert library_path("some.so", sources=(), conditions=()).is_relative_to(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("FUSED_MLP_CACHE", "~/kernels")
    assert library_path("some.so", sources=(), conditions=()).is_relative_to(tmp_path / "kernels")
