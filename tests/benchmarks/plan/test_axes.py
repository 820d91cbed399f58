"""Which points a sweep visits."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.ruler.checks.fused_table import BATCHES, DIMS_AND_HIDDENS
from benchmarks.ruler.errors import InvalidAxes
from benchmarks.ruler.plan import work
from benchmarks.ruler.plan.axes import FULL, HISTORY, QUICK, RIVALS, groups, resolve_dim
from benchmarks.ruler.plan.axes_files import axes_from_settings, axes_from_toml
from benchmarks.ruler.plan.filters import Filters, refuse_unknown_values, selected
from benchmarks.ruler.plan.model_axes import MODELS
from benchmarks.ruler.plan.points import (
    CachePolicy,
    Contender,
    DeviceKind,
    Operation,
    Pass,
    Weights,
    contender_from_name,
)
from benchmarks.ruler.plan.presets import PRESETS
from benchmarks.ruler.plan.settings import Settings


@pytest.mark.parametrize("operation", list(Operation))
def test_the_quick_axes_hold_two_batches_and_two_hiddens_of_every_operation(operation):
    found = groups(QUICK, operation=operation, device=DeviceKind.CPU)
    assert {group.shape.batch for group in found} == set(QUICK.batches)
    assert {group.shape.hidden for group in found} == set(QUICK.hiddens)
    assert len(QUICK.batches) >= 2
    assert len(QUICK.hiddens) >= 2
    assert all(group.shape.operation is operation for group in found)


def test_a_device_measures_its_own_dtypes():
    on_cpu = groups(QUICK, operation="mlp", device=DeviceKind.CPU)
    on_gpu = groups(QUICK, operation="mlp", device=DeviceKind.CUDA)
    assert {group.shape.dtype for group in on_cpu} == {"float32"}
    assert {group.shape.dtype for group in on_gpu} == {"bfloat16"}


def test_dim_is_a_quarter_of_hidden_unless_it_is_given():
    assert resolve_dim("hidden/4", hidden=1024) == 256
    assert resolve_dim("hidden/4", hidden=1) == 1
    assert resolve_dim(96, hidden=1024) == 96


@given(st.permutations([64, 256, 1024]))
def test_the_order_of_the_axes_does_not_change_the_order_of_the_groups(hiddens):
    shuffled = replace(QUICK, hiddens=tuple(hiddens))
    ordered = replace(QUICK, hiddens=(64, 256, 1024))
    assert groups(shuffled, operation="mlp", device=DeviceKind.CPU) == groups(
        ordered, operation="mlp", device=DeviceKind.CPU
    )


def test_two_dims_that_mean_the_same_width_make_one_group():
    axes = replace(QUICK, hiddens=(1024,), dims=("hidden/4", 256))
    assert len(groups(axes, operation="mlp", device=DeviceKind.CPU)) == len(QUICK.batches)


def test_parts_visited_also_add_their_shapes_and_no_product_between_parts():
    part = replace(QUICK, operations=("gated_mlp",), batches=(1,), hiddens=(48,), dims=(7,))
    axes = replace(QUICK, operations=("mlp",), batches=(2,), hiddens=(64,), also=(part,))
    sizes = {
        operation: [
            (group.shape.batch, group.shape.hidden, group.shape.dim)
            for group in groups(axes, operation=operation, device=DeviceKind.CPU)
        ]
        for operation in Operation
    }
    assert sizes == {"linear": [], "mlp": [(2, 64, 16)], "gated_mlp": [(1, 48, 7)]}


def test_a_shape_of_two_parts_is_one_group_with_the_contenders_of_the_first():
    part = replace(QUICK, providers=("eager",))
    found = groups(replace(QUICK, also=(part,)), operation="mlp", device=DeviceKind.CPU)
    assert found == groups(QUICK, operation="mlp", device=DeviceKind.CPU)


def test_an_operation_that_the_axes_leave_out_has_no_groups():
    axes = replace(QUICK, operations=("mlp",))
    assert groups(axes, operation="mlp", device=DeviceKind.CPU)
    assert groups(axes, operation="linear", device=DeviceKind.CPU) == ()


def test_filters_keep_what_they_name_and_drop_empty_groups():
    found = groups(FULL, operation="mlp", device=DeviceKind.CPU)
    kept = selected(found, Filters(provider=("fused", "eager"), batch=("16",), pass_=("forward",)))
    assert {group.shape.batch for group in kept} == {16}
    assert {group.shape.pass_ for group in kept} == {"forward"}
    assert all([c.provider for c in group.contenders] == ["eager", "fused"] for group in kept)
    assert selected(found, Filters(batch=("3",))) == ()
    assert selected(found, Filters()) == found


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        (Filters(provider=("eager", "fusde")), "no point has provider 'fusde', did you mean fused.* there are eager"),
        (Filters(batch=("x",)), "no point has batch 'x'; there are 1, "),
    ],
)
def test_a_value_that_no_point_has_is_refused_beside_those_there_are(filters, message):
    found = groups(FULL, operation="mlp", device=DeviceKind.CPU)
    with pytest.raises(InvalidAxes, match=message):
        refuse_unknown_values(found, filters)
    refuse_unknown_values(found, Filters(provider=("eager",), batch=("16",)))


def test_a_contender_is_read_as_it_is_written():
    packed = Contender(provider="fused", weights=Weights.PACKED)
    assert contender_from_name("fused") == Contender(provider="fused")
    assert contender_from_name(str(packed)) == packed
    with pytest.raises(InvalidAxes, match="'zipped' is not a layout of weights; choose from plain, packed"):
        contender_from_name("fused:zipped")


def test_axes_from_a_file_take_the_rest_from_quick(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('batches = [3]\nhiddens = [8]\ncaches = ["cold"]\ndtypes.cpu = ["float16"]\nbudget_s = 2\n')
    axes = axes_from_settings(Settings(axes=str(path)))
    (group,) = groups(axes, operation="linear", device=DeviceKind.CPU)
    assert (group.shape.batch, group.shape.hidden, group.shape.dtype) == (3, 8, "float16")
    assert group.shape.cache is CachePolicy.COLD
    assert axes.dtypes["cuda"] == QUICK.dtypes["cuda"]
    assert axes.providers == QUICK.providers
    assert axes.budget_s == 2.0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("batchs = [1]", "unknown key 'batchs'; the keys are activations, batches"),
        ("batches = []", "batches is .*at least one int"),
        ("batches = [0]", "batches holds 0; sizes are from 1 to 2147483647"),
        ("hiddens = [99999999999999999999]", "hiddens holds 9+; sizes are from 1 to"),
        ('batches = ["many"]', "batches is .*at least one int"),
        ('operations = ["conv"]', "operations holds 'conv'; choose from linear, mlp, gated_mlp"),
        ('dims = ["hidden/3"]', "dims holds 'hidden/3'"),
        ("budget_s = -1", "budget_s is -1"),
        ("dtypes = 3", "dtypes is a table"),
        ("batches = [true]", "batches is .*at least one int"),
        ("dims = [true]", "dims is .*at least one int or str"),
        ("budget_s = true", "budget_s is True"),
        ("budget_s = inf", "budget_s is inf"),
        ("visits = 1000000000000", "visits is 10+; it is a whole number from 1 to 1000"),
        ('dtypes.cpu = ["float99"]', "dtypes.cpu holds 'float99'; choose from float64, float32, bfloat16, float16"),
        ('dtypes.tpu = ["float32"]', "dtypes holds 'tpu'; choose from cpu, cuda"),
        ('activations.mlp = ["gelux"]', "activations.mlp holds 'gelux'; choose from relu, silu"),
        ('activations.mlp = ["none"]', "activations.mlp holds 'none'; choose from relu, silu"),
        ('activations.conv = ["gelu"]', "activations holds 'conv'; choose from linear, mlp, gated_mlp"),
        ('providers = [""]', "providers holds ''; a provider has a name"),
        ('providers = ["fused:zip"]', "providers: .*'zip' is not a layout of weights"),
        ("[[also]]\nvisits = 5", "also holds visits, which is of all parts alike"),
        ("[[also]]\nbudget_s = 5", "also holds budget_s, which is of all parts alike"),
        ("also = " + 3000 * "[" + 3000 * "]", "nested too deeply"),
        ("not toml", "mine.toml"),
    ],
)
def test_a_bad_file_of_axes_is_named_with_its_key(tmp_path, content, message):
    path = tmp_path / "mine.toml"
    path.write_text(content)
    with pytest.raises(InvalidAxes, match=message) as raised:
        axes_from_toml(path)
    assert str(path) in str(raised.value)


def test_a_provider_that_is_named_twice_takes_part_once(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('providers = ["eager", "eager", "fused", "fused:plain"]\n', encoding="utf-8")
    for group in groups(axes_from_toml(path), operation="mlp", device=DeviceKind.CPU):
        assert [str(each) for each in group.contenders] == ["eager", "fused"]


@pytest.mark.parametrize("operation", list(Operation))
def test_axes_may_hold_every_activation_and_dtype_that_a_workload_has(operation, tmp_path):
    path = tmp_path / "mine.toml"
    activations = [*work.ACTIVATIONS, *(["none"] if operation is Operation.LINEAR else [])]
    path.write_text(f"activations.{operation} = {activations}\ndtypes.cpu = {list(work.DTYPES)}\n", encoding="utf-8")
    found = groups(axes_from_toml(path), operation=operation, device=DeviceKind.CPU)
    assert {group.shape.dtype for group in found} == set(work.DTYPES)
    assert {group.shape.activation or "none" for group in found} == set(activations)


def test_unknown_axes_are_refused_with_the_choices():
    with pytest.raises(
        InvalidAxes,
        match=r"'slow'; choose from quick, full, .*half-hour, .*asv-proof, or name a .toml file",
    ):
        axes_from_settings(Settings(axes="slow"))


def test_the_history_visits_few_shapes_of_every_operation_in_both_passes():
    found = [group for name in Operation for group in groups(HISTORY, operation=name, device=DeviceKind.CPU)]
    assert len(found) == 15
    assert {(group.shape.operation, group.shape.pass_) for group in found} == set(itertools.product(Operation, Pass))
    names = {tuple(map(str, group.contenders)) for group in found}
    assert names == {("eager", "compiled", "fused", "fused:packed")}


def test_the_rivals_are_met_at_the_shapes_of_the_fused_table():
    for name in (Operation.MLP, Operation.GATED_MLP):
        found = groups(RIVALS, operation=name, device=DeviceKind.CPU)
        shapes = {(group.shape.batch, group.shape.dim, group.shape.hidden) for group in found}
        assert shapes == {(batch, *sizes) for batch in BATCHES for sizes in DIMS_AND_HIDDENS}
        assert all({"eager", "compiled", "fused", "fused:packed"} < set(map(str, group.contenders)) for group in found)
    assert groups(RIVALS, operation=Operation.LINEAR, device=DeviceKind.CPU) == ()


def test_the_axes_of_models_hold_the_block_of_every_preset_at_every_batch():
    found = {group.shape for name in Operation for group in groups(MODELS, operation=name, device=DeviceKind.CPU)}
    blocks = {(one.operation, one.dim, one.hidden, one.activation) for one in PRESETS.values()}
    assert {(s.operation, s.dim, s.hidden, s.activation) for s in found} == blocks
    assert len(found) == len(blocks) * len(MODELS.batches)
    assert {part.model for part in MODELS.parts()} == set(PRESETS)


@pytest.mark.parametrize("operation", [Operation.MLP, Operation.GATED_MLP])
def test_the_tanh_form_of_gelu_is_in_the_full_axes_beside_the_usual_activation(operation):
    found = {group.shape.activation for group in groups(FULL, operation=operation, device=DeviceKind.CPU)}
    assert "gelu_tanh" in found
    assert len(found) == 2


def test_a_file_may_name_itself_and_a_model_and_keeps_its_batches(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\nmodel = "gemma-2b"\nbatches = [3]\n[[also]]\nmodel = "gpt2"\n', encoding="utf-8")
    axes = axes_from_toml(path)
    assert axes.name == "mine"
    found = [group.shape for name in Operation for group in groups(axes, operation=name, device=DeviceKind.CPU)]
    assert {(s.operation, s.dim, s.hidden, s.activation, s.batch) for s in found} == {
        ("gated_mlp", 2048, 16384, "gelu_tanh", 3),
        *(("mlp", 768, 3072, "gelu_tanh", batch) for batch in QUICK.batches),
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('model = "gpt3"', "model is 'gpt3'; choose from bert-base, "),
        ('model = "gpt2"\nhiddens = [8]', "model = 'gpt2' decides hiddens already"),
        ("name = 3", "name is 3; it is a text"),
    ],
)
def test_a_model_or_name_that_is_none_is_refused(tmp_path, content, message):
    path = tmp_path / "mine.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidAxes, match=message):
        axes_from_toml(path)


def test_a_file_with_a_byte_order_mark_is_read(tmp_path):
    path = tmp_path / "axes.toml"
    path.write_text('operations = ["linear"]\n', encoding="utf-8-sig")
    assert axes_from_toml(path).operations == ("linear",)
