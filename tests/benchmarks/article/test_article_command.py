"""The article's cases become axes that the sweep measures, and guesses that the store's half reads."""

from __future__ import annotations

import json

import pytest

from benchmarks.ruler.article.command import asked, main
from benchmarks.ruler.plan.axes import all_groups
from benchmarks.ruler.plan.axes_files import axes_from_settings
from benchmarks.ruler.plan.points import DeviceKind, Operation
from benchmarks.ruler.plan.settings import Settings
from results.commands.measuring.observations import cases_from

OPTIONS = main.make_context("article", []).params


@pytest.mark.parametrize("device", DeviceKind)
def test_what_is_asked_is_what_the_sweep_measures(device):
    content = json.loads(json.dumps(asked(OPTIONS, device=device)))
    axes = axes_from_settings(Settings(axes=content["axes"]))
    groups = all_groups(axes, operations=tuple(Operation), device=device)
    measured = [
        (group.shape.operation, group.shape.batch, group.shape.dim, group.shape.hidden, set(map(str, group.contenders)))
        for group in groups
    ]
    found = cases_from(content)
    assert [(case.operation, case.rows, case.dim, case.hidden, set(case.steps)) for case in found] == measured
    assert len(found) == 3


def test_the_guess_is_the_articles_lesson():
    linear, small, wide = cases_from(asked(OPTIONS, device=DeviceKind.CPU))
    assert linear.steps == {"eager": 1, "compiled": 1, "fused": 1}
    assert small.steps == wide.steps == {"eager": 5, "compiled": 4, "fused": 1, "liger": None}
    assert linear.flop == 2 * 1024 * 32 * 64
    assert linear.min_bytes == 4 * (1024 * 32 + 32 * 64 + 64 + 1024 * 64)
    assert small.intermediate_bytes == 4 * 64 * 256


def test_on_a_gpu_the_articles_own_shape_is_measured_in_its_dtype():
    linear, _, wide = cases_from(asked(OPTIONS, device=DeviceKind.CUDA))
    assert (wide.rows, wide.dim, wide.hidden, wide.activation, wide.dtype) == (8192, 768, 3072, "gelu_tanh", "bfloat16")
    assert wide.flop == 3 * 38_654_705_664
    assert wide.intermediate_bytes == 50_331_648
    # What fused_mlp chooses is known once it has been built.
    assert wide.steps == {"eager": 5, "compiled": 4, "fused-pointwise": 4, "fused": None, "liger": 4}
    assert linear.steps["eager"] == linear.steps["compiled"] == 1
