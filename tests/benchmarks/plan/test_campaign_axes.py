"""Which points a campaign measures, and in which order."""

import pytest

from benchmarks.ruler.plan.axes import all_groups, groups
from benchmarks.ruler.plan.campaign_axes import (
    ARTICLE,
    ASV_PROOF,
    CAMPAIGN,
    HALF_HOUR,
    HALF_HOUR_AUTOTUNED,
    HALF_HOUR_TRAINING,
    cells_ahead,
)
from benchmarks.ruler.plan.points import DeviceKind, Operation, Pass


def measured(axes):
    return all_groups(axes, operations=tuple(Operation), device=DeviceKind.CUDA)


def test_the_campaign_visits_the_shapes_that_its_table_is_about():
    batches = {1, 4, 16, 64, 256, 1024, 4096, 16384}
    sizes = {
        Operation.MLP: {(64, 256), (128, 512), (256, 1024), (768, 3072), (1024, 4096)},
        Operation.GATED_MLP: {(2048, 5632), (4096, 11008), (4096, 14336)},
    }
    for operation, wanted in sizes.items():
        shapes = [group.shape for group in groups(CAMPAIGN, operation=operation, device=DeviceKind.CUDA)]
        found = {
            (shape.batch, shape.dim, shape.hidden) for shape in shapes if shape.activation in {"gelu_tanh", "silu"}
        }
        assert found == {(batch, *size) for batch in batches for size in wanted}
    floor = [group.shape for group in groups(CAMPAIGN, operation="mlp", device=DeviceKind.CUDA)]
    assert {(s.batch, s.dim) for s in floor if s.activation == "relu"} == {(65536, 64), (65536, 128)}


def test_the_half_hour_has_twenty_groups_of_what_is_called_most_often():
    found = measured(HALF_HOUR)
    sizes = {}
    for group in found:
        s = group.shape
        assert (s.dtype, s.pass_) == ("bfloat16", Pass.FORWARD)
        sizes.setdefault((s.operation, s.activation, s.dim, s.hidden), []).append(s.batch)
    mlp, gated = Operation.MLP, Operation.GATED_MLP
    assert sizes == {
        (mlp, "gelu_tanh", 1024, 4096): [1, 8, 64, 512, 4096],
        (mlp, "gelu_tanh", 256, 1024): [64, 1024, 16384],
        (mlp, "gelu", 1024, 4096): [64],
        (mlp, "relu", 64, 256): [65536],
        (mlp, "relu", 128, 512): [65536],
        (gated, "silu", 4096, 14336): [1, 8, 64, 512, 4096],
        (gated, "silu", 4096, 11008): [1, 512],
        (gated, "silu", 2048, 5632): [64, 1024],
    }
    assert len(found) == 20
    assert HALF_HOUR.visits == 1


def test_the_half_hour_visits_few_rows_first_whatever_the_operation():
    found = measured(HALF_HOUR)
    batches = [group.shape.batch for group in found]
    assert batches == sorted(batches)
    assert {group.shape.operation for group in found[:3]} == {Operation.MLP, Operation.GATED_MLP}


@pytest.mark.parametrize("axes", [CAMPAIGN, HALF_HOUR], ids=lambda axes: axes.name)
def test_the_strongest_rivals_there_are_take_part(axes):
    found = measured(axes)
    rivals = {
        "eager",
        "compiled",
        "compiled-cudagraphs",
        "packed-eager:packed",
        "liger",
        "liger-mlp",
        "addmm-activation",
    }
    if axes is CAMPAIGN:
        rivals |= {"compiled-max-autotune-no-cudagraphs", "compiled-max-autotune-tma"}
    names = [{str(each) for each in group.contenders} for group in found]
    assert set.union(*names) >= rivals
    known = [group for group in found if group.shape.activation in {"relu", "gelu_tanh"}]
    assert len(known) > len([group for group in found if group.shape.activation == "gelu"]) > 0, "erf is the control"
    assert sum("liger-mlp" in each for each in names) == (2 if axes is HALF_HOUR else len(found))


@pytest.mark.parametrize("axes", [HALF_HOUR_AUTOTUNED, ASV_PROOF], ids=lambda axes: axes.name)
def test_what_is_measured_again_is_of_the_half_hour_with_all_that_is_compared_there(axes):
    contenders = {group.shape: set(group.contenders) for group in measured(HALF_HOUR)}
    found = measured(axes)
    assert {group.shape for group in found} < set(contenders)
    if axes is HALF_HOUR_AUTOTUNED:
        assert len(found) == 4
        assert all(set(group.contenders) > contenders[group.shape] for group in found)


def test_training_is_measured_at_few_rows_and_at_many_of_both_kinds_of_block():
    found = measured(HALF_HOUR_TRAINING)
    assert {(g.shape.operation, g.shape.batch) for g in found} == {
        (operation, rows) for operation in (Operation.MLP, Operation.GATED_MLP) for rows in (64, 4096)
    }
    assert {g.shape.pass_ for g in found} == {Pass.FORWARD_BACKWARD}
    assert all({"eager", "compiled", "fused"} <= set(map(str, g.contenders)) for g in found)


def test_every_shape_of_the_half_hour_is_compiled_ahead():
    found = cells_ahead(HALF_HOUR)
    assert "mlp:gelu_tanh:1024:4096:1,8,64,512,4096" in found
    assert "gated_mlp:silu:2048:5632:64,1024" in found
    assert sum(len(cell.rpartition(":")[2].split(",")) for cell in found) == len(measured(HALF_HOUR))
    assert cells_ahead(ARTICLE) == ["gated_mlp:gelu_tanh:768:3072:8192"]


def test_the_article_s_two_cases_are_there():
    sizes = {
        (g.shape.operation, g.shape.activation, g.shape.batch, g.shape.dim, g.shape.hidden) for g in measured(ARTICLE)
    }
    assert sizes == {
        (Operation.LINEAR, None, 1024, 32, 64),
        (Operation.GATED_MLP, "gelu_tanh", 8192, 768, 3072),
    }
