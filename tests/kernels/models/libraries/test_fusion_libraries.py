"""Other libraries at a fused model: adapters by peft, quantised weights by torchao; skipped where they lack."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import CheckpointError, checkpoint

import fused_mlp
from tests.kernels.models.blocks import (
    BertLayer,
    ClipStyle,
    LlamaStyle,
    Merged,
    OptStyle,
    Stack,
    expect_close,
    expect_twins,
)

pytestmark = pytest.mark.usefixtures("cpu_kernels")
LAYERS = ["gate_proj", "up_proj", "down_proj", "gate_up_proj", "fc1", "fc2", "dense"]


def stack():
    torch.manual_seed(0)
    return Stack(LlamaStyle(), ClipStyle(), OptStyle(), BertLayer(), Merged(), Merged(bias=True))


class Quantised(torch.Tensor):
    """Weight kept as bytes, as libraries of quantisation have it: of all operations it knows the linear layer's."""

    @staticmethod
    def __new__(cls, weight):
        return torch.Tensor._make_wrapper_subclass(cls, weight.shape, dtype=weight.dtype, requires_grad=False)

    def __init__(self, weight):
        self.scale = weight.abs().max().item() / 127
        self.values = (weight.detach() / self.scale).round().to(torch.int8)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is functional.linear:
            x, weight, *bias = args
            return functional.linear(x, weight.values.float() * weight.scale, *bias, **(kwargs or {}))
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.detach.default:
            return args[0]
        raise NotImplementedError(f"{func} of quantised weights")


def quantise(model):
    for module in model.modules():
        if type(module) is nn.Linear:
            module.weight = nn.Parameter(Quantised(module.weight.data), requires_grad=False)


@pytest.mark.parametrize("mode", ["training", "inference"])
def test_weights_quantised_after_fusing_are_computed_by_their_own_kind(mode):
    model, twin, x = stack().eval(), stack().eval(), torch.randn(3, 12)
    fused_mlp.fuse(model, mode=mode)
    for each in (model, twin):
        quantise(each)
    with torch.no_grad():
        expect_close(model(x), twin(x))
        report = fused_mlp.prepare(model)
        assert len(report.kept) == 6
        assert all(
            "a weight is of Quantised, and only plain tensors can be packed" in kept.reason for kept in report.kept
        )
        expect_close(model(x), twin(x))


def test_weights_quantised_before_fusing_are_a_reason_to_keep_the_block():
    model = stack().eval()
    quantise(model)
    report = fused_mlp.fuse(model)
    assert not report.replaced
    reasons = {kept.path: kept.reason for kept in report.kept}
    assert reasons["blocks.0"] == "gate_proj.weight is a Quantised, which the kernels do not take"


@pytest.mark.parametrize("mode", ["training", "inference"])
@pytest.mark.parametrize("name", ["Int8WeightOnlyConfig", "Int8DynamicActivationInt8WeightConfig"])
@pytest.mark.filterwarnings("ignore")
def test_torchao_quantises_a_fused_model(name, mode):
    quantization = pytest.importorskip("torchao.quantization")
    model, twin, x = stack().eval(), stack().eval(), torch.randn(3, 12)
    fused_mlp.fuse(model, mode=mode)
    for each in (model, twin):
        quantization.quantize_(each, getattr(quantization, name)())
    with torch.no_grad():
        expect_close(model(x), twin(x))


def with_lora(model, peft):
    torch.manual_seed(1)
    return peft.get_peft_model(model, peft.LoraConfig(target_modules=LAYERS, init_lora_weights=False, r=2))


@pytest.mark.parametrize("mode", ["training", "inference"])
@pytest.mark.parametrize("is_fused_first", [True, False])
@pytest.mark.filterwarnings("ignore")
def test_adapters_of_peft_are_computed_trained_merged_and_taken_off(is_fused_first, mode):
    peft = pytest.importorskip("peft", exc_type=ImportError)
    model, twin, x = stack(), stack(), torch.randn(3, 12)
    if is_fused_first:
        fused_mlp.fuse(model, mode=mode)
    adapted, of_twin = with_lora(model, peft), with_lora(twin, peft)
    if not is_fused_first:
        fused_mlp.fuse(adapted, mode=mode)
    expect_twins(adapted, of_twin, x)
    for each in (adapted, of_twin):
        each.merge_adapter()
    expect_twins(adapted, of_twin, x)
    with adapted.disable_adapter(), of_twin.disable_adapter():
        expect_twins(adapted, of_twin, x)
    merged, of_twin = adapted.merge_and_unload(), of_twin.merge_and_unload()
    expect_twins(merged, of_twin, x)
    merged.eval()
    of_twin.eval()
    fused_mlp.prepare(merged)
    with torch.no_grad():
        expect_close(merged(x), of_twin(x))


def test_weights_that_a_library_keeps_as_attributes_are_computed():
    """As FullyShardedDataParallel does with its flat parameters."""
    torch.manual_seed(0)
    model, x = Stack(LlamaStyle(bias=True), ClipStyle(), Merged(bias=True), LlamaStyle()), torch.randn(3, 12)
    twin = copy.deepcopy(model)
    fused_mlp.fuse(model)
    for each in (model, twin):
        for layer in [module for module in each.modules() if type(module) is nn.Linear]:
            for name, parameter in list(layer._parameters.items()):
                del layer._parameters[name]
                setattr(layer, name, None if parameter is None else parameter.detach() * 2)
    expect_close(model(x), twin(x))


@pytest.mark.parametrize("dtype", [None, torch.bfloat16])
def test_a_checkpoint_is_computed_again_under_autocast_too(dtype):
    """The computation is ended by an exception as soon as all that is needed is there."""
    model, twin, x = stack(), stack(), torch.randn(3, 12)
    fused_mlp.fuse(model)
    gradients = []
    for each in (model, twin):
        with torch.autocast("cpu", dtype or torch.bfloat16, enabled=dtype is not None):
            y = checkpoint(each, x, use_reentrant=False)
        y.float().square().mean().backward()
        gradients.append(torch.cat([parameter.grad.flatten() for parameter in each.parameters()]))
    tolerance = 0.03 if dtype else 2e-5
    assert (gradients[0] - gradients[1]).abs().max() <= tolerance * gradients[1].abs().max()


def square():
    """Blocks that save tensors of one shape alone, so that a checkpoint takes any for any."""
    torch.manual_seed(0)
    blocks = [ClipStyle(), LlamaStyle(), Merged(), Merged(bias=True)]
    for block in blocks:
        for name, layer in block.named_children():
            if type(layer) is nn.Linear:
                setattr(block, name, nn.Linear(12, 24 if name == "gate_up_proj" else 12, bias=layer.bias is not None))
    return Stack(*blocks)


def gradients_by_a_checkpoint(model, x, change):
    model.train(mode=False)
    y = checkpoint(model, x, use_reentrant=False)
    change(model)
    return [y, *torch.autograd.grad(y.square().sum(), list(model.parameters()))]


@pytest.mark.parametrize("make", [stack, square])
@pytest.mark.parametrize("mode", ["training", "inference"])
def test_a_checkpoint_may_be_computed_again_in_the_other_mode(make, mode):
    model, x = make(), torch.randn(12, 12)
    twin = copy.deepcopy(model)
    fused_mlp.fuse(model, mode=mode)
    expect_close(*(gradients_by_a_checkpoint(each, x, lambda changed: changed.train()) for each in (model, twin)))


@pytest.mark.parametrize("needs_gradient", [True, False])
@pytest.mark.parametrize("index", range(2))
def test_a_checkpoint_tells_of_other_code_when_it_is_computed_again(index, needs_gradient):
    model, x = square(), torch.randn(12, 12, requires_grad=needs_gradient)
    fused_mlp.fuse(model)

    def hook(changed):
        layer = next(each for each in changed.blocks[index].modules() if type(each) is nn.Linear)
        layer.register_forward_hook(lambda *_: None)

    with pytest.raises(CheckpointError):
        gradients_by_a_checkpoint(model, x, hook)


@pytest.mark.parametrize("index", range(4))
def test_a_checkpoint_that_compares_nothing_may_be_computed_again_with_a_hook(index):
    model, x = square(), torch.randn(12, 12, requires_grad=True)
    twin, gradients = copy.deepcopy(model), []
    fused_mlp.fuse(model)
    for each in (model, twin):
        y = checkpoint(each, x, use_reentrant=False, determinism_check="none")
        layer = next(layer for layer in each.blocks[index].modules() if type(layer) is nn.Linear)
        layer.register_forward_hook(lambda *_: None)
        gradients.append(torch.autograd.grad(y.square().sum(), [x, *each.parameters()]))
    expect_close(*gradients)


@pytest.mark.parametrize("is_prepared", [True, False])
def test_weights_can_be_swapped_for_others(is_prepared):
    model, twin, x = stack().eval(), stack().eval(), torch.randn(3, 12)
    fused_mlp.fuse(model, mode="inference", prepare=is_prepared)
    with torch.no_grad():
        expect_close(model(x), twin(x))
        for each in (model, twin):
            torch.utils.swap_tensors(each.blocks[1].fc1.weight, nn.Parameter(torch.ones(20, 12)))
        expect_close(model(x), twin(x))


def test_a_model_moved_to_meta_tells_shapes_and_comes_back():
    model, twin, x = stack(), stack(), torch.randn(3, 12)
    weights = model.state_dict()
    fused_mlp.fuse(model)
    model.to("meta")
    assert model(x.to("meta")).shape == x.shape
    model.to_empty(device="cpu").load_state_dict(weights)
    expect_twins(model, twin, x)


@pytest.mark.parametrize("mode", ["training", "inference"])
@pytest.mark.parametrize("layer", ["blocks.0.up_proj", "blocks.1.fc1", "blocks.4.down_proj", "blocks.4.gate_up_proj"])
def test_a_bias_given_to_a_layer_after_fusing_counts(layer, mode):
    model, twin, x = stack(), stack(), torch.randn(3, 12)
    fused_mlp.fuse(model, mode=mode)
    for each in (model, twin):
        changed = each.get_submodule(layer)
        changed.bias = nn.Parameter(torch.linspace(0, 1, changed.out_features))
    expect_twins(model, twin, x)
    for each in (model, twin):
        each.get_submodule(layer).bias = None
    expect_twins(model, twin, x)


@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_layers_that_learn_their_sizes_later_are_kept_until_they_have():
    class Lazy(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1 = nn.LazyLinear(20)
            self.fc2 = nn.LazyLinear(12)

        def forward(self, x):
            return self.fc2(torch.relu(self.fc1(x)))

    model, x = Lazy(), torch.randn(3, 12)
    (kept,) = fused_mlp.fuse(model).kept
    assert kept.reason == "fc1 is a LazyLinear, which has no weight before its first call: fuse the model after one"
    expected = model(x)
    assert len(fused_mlp.fuse(model).replaced) == 1
    expect_close(model(x), expected)


def test_a_layer_whose_weights_are_elsewhere_is_kept_with_that_reason():
    """As a process has it that holds no part of a sharded layer."""
    model = ClipStyle()
    model.fc1.weight = nn.Parameter(torch.empty(0))
    (kept,) = fused_mlp.fuse(model).kept
    assert kept.reason == "fc1.weight is no matrix: its values are elsewhere, as of a sharded model's"
