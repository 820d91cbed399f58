"""The commands that measure a point again hold its shape, which no axes of a name need to, and run in a shell."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from benchmarks.ruler.ab.options import chosen_settings
from benchmarks.ruler.plan.axes import FULL, all_groups
from benchmarks.ruler.plan.axes_files import axes_from_settings, axes_from_toml
from benchmarks.ruler.plan.filters import selected
from benchmarks.ruler.plan.points import DeviceKind, Operation
from results.measuring_again import AXES_FILE, compare_again, run_again
from tests.made_calls import point

if TYPE_CHECKING:
    from pathlib import Path

A, B = "a" * 40, "b" * 40
# fusebench and git only repeat what they are called with.
SHELL = 'fusebench() { echo "$FUSEBENCH_TRACES|$FUSEBENCH_THREADS" "$@"; }; git() { :; }; '


def in_shell(command, folder):
    return subprocess.run(["sh", "-c", SHELL + command], cwd=folder, capture_output=True, text=True, check=True).stdout


def shapes_in(folder: Path):
    axes = axes_from_toml(folder / AXES_FILE)
    return [
        (group.shape, {str(one) for one in group.contenders})
        for group in all_groups(axes, operations=axes.operations, device=DeviceKind.CPU)
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"batch": 8, "hidden": 1024, "dim": 256, "threads": 2},
        {"operation": "linear", "activation": None, "dim": 1024, "hidden": 24, "pass_": "forward_backward"},
        {"provider": "fused", "weights": "packed", "cache": "cold", "dtype": "bfloat16"},
    ],
)
def test_both_commits_are_compared_at_exactly_the_point_beside_eager(changes, tmp_path):
    row = point(**changes)
    said = in_shell(compare_again((A, B), row), tmp_path)
    assert said == f"|{row.threads} ab {A[:12]} {B[:12]} --axes {AXES_FILE} --provider {row.contender}\n"
    [(shape, contenders)] = shapes_in(tmp_path)
    assert contenders == {"eager", row.contender}
    assert tuple(shape.activation if name == "activation" else getattr(shape, name) for name in (
        "operation", "pass_", "dtype", "activation", "batch", "hidden", "dim", "cache")) == (
        row.operation, row.pass_, row.dtype, row.activation, row.batch, row.hidden, row.dim, row.cache)  # fmt: skip


@pytest.mark.parametrize("changes", [{"provider": "compiled"}, {"provider": "onnxruntime", "weights": "packed"}])
def test_a_contender_that_is_not_ours_is_compared_too(changes, tmp_path, monkeypatch):
    row = point(**changes)
    monkeypatch.chdir(tmp_path)
    *_, axes, _, provider = in_shell(compare_again((A, B), row), tmp_path).split()
    settings = chosen_settings(axes, no_wait=True, filters={"provider": provider}, command="ab")
    groups = all_groups(axes_from_settings(settings), operations=tuple(Operation), device=DeviceKind.CPU)
    [group] = selected(groups, settings.filters)
    assert {str(one) for one in group.contenders} == {"eager", row.contender}


def test_the_full_axes_lack_a_point_that_can_be_compared_again():
    assert 8 not in FULL.batches


def test_a_point_is_run_again_with_its_trace(tmp_path):
    row = point(batch=8, threads=2)
    said = in_shell("\n".join(run_again([row], is_traced=True)), tmp_path)
    assert said == f"8|2 run --axes {AXES_FILE} --again\n"
    [(shape, contenders)] = shapes_in(tmp_path)
    assert (shape.batch, contenders) == (8, {"fused"})
