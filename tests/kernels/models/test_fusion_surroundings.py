"""What is changed around a fused block, which its code reads at each call; and fusing under torch's modes."""

import copy
import random
import re

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.nn.modules import module as torch_module

import fused_mlp
from fused_mlp import InvalidArgument, fuse
from tests.kernels.models import test_fusion_unseen as unseen
from tests.kernels.models.blocks import ClipStyle, LlamaStyle, Merged, OptStyle, Stack, expect_close
from tests.kernels.models.test_fusion_unseen import X, called, expect_same_outcome

pytestmark = pytest.mark.usefixtures("cpu_kernels")


def configured(block, _):
    block.config.scale = 5.0


def listed(block, _):
    block.scales[0] = 5.0


def buffered(block, _):
    block.scale.fill_(5.0)


def untied(block, _):
    block.second = nn.Parameter(torch.ones(12))


def of_the_module(_, monkeypatch):
    monkeypatch.setitem(unseen.SETTINGS, "scale", 5.0)


def of_the_class(_, monkeypatch):
    monkeypatch.setattr(unseen.OfItsClass, "scale", 5.0)


def the_forward(_, monkeypatch):
    monkeypatch.setattr(unseen.Plain, "forward", lambda self, x: self.fc(x))


def the_layers_forward(_, monkeypatch):
    doubled = lambda layer, x: 2 * functional.linear(x, layer.weight, layer.bias)  # noqa: E731
    monkeypatch.setattr(nn.Linear, "forward", doubled)


@pytest.mark.parametrize(
    ("make", "change"),
    [
        (unseen.Configured, configured),
        (unseen.Configured, listed),
        (unseen.Buffered, buffered),
        (unseen.Listed, buffered),
        (unseen.Branched, buffered),
        (unseen.Tied, untied),
        (unseen.OfItsModule, of_the_module),
        (unseen.OfItsClass, of_the_class),
        (unseen.Plain, the_forward),
        (unseen.Plain, the_layers_forward),
    ],
    ids=lambda value: value.__name__,
)
def test_a_value_changed_after_fusing_counts(make, change, monkeypatch):
    twin = make()
    model = fuse(copy.deepcopy(twin)).model
    expect_same_outcome(model, twin, called)
    for each in (model, twin):
        change(each, monkeypatch)
    expect_same_outcome(model, twin, called)


def test_a_value_of_a_closure_counts():
    scale = 2.0

    class Closed(unseen.Plain):
        def forward(self, x):
            return super().forward(x) * scale

    twin = Closed()
    model = fuse(copy.deepcopy(twin)).model
    scale = 5.0
    expect_same_outcome(model, twin, called)


def test_reading_a_forward_leaves_no_trace():
    before = torch.get_rng_state(), random.getstate()
    for make in (unseen.CallsInAList, unseen.LeavesLayersOut, unseen.ClipsItsWeights):
        block = make()
        state = copy.deepcopy(block.state_dict())
        torch.set_rng_state(before[0])
        fuse(block)
        assert not unseen.CALLS
        assert torch.equal(torch.get_rng_state(), before[0])
        assert random.getstate() == before[1]
        expect_close(list(block.state_dict().values()), list(state.values()))
    block = fuse(unseen.CallsInAList()).model
    block(X)
    assert unseen.CALLS.pop() == 1


def test_a_replica_computes_with_its_own_layers():
    twin = unseen.Plain()
    block = fuse(copy.deepcopy(twin)).model
    replica = block._replicate_for_data_parallel()
    replica._modules["fc"] = nn.Linear(12, 20)
    expect_close(replica(X), twin.proj(replica._modules["fc"](X).relu()))


def test_a_layer_whose_forward_is_not_torch_s_is_not_read_past(monkeypatch):
    monkeypatch.setattr(nn.Linear, "forward", lambda layer, x: functional.linear(x, layer.weight))
    (kept,) = fuse(unseen.Plain()).kept
    assert kept.reason == "fc is an nn.Linear with a forward that is not torch's"


def test_a_forward_put_into_an_activation_s_class_is_what_counts(monkeypatch):
    monkeypatch.setattr(nn.GELU, "forward", lambda _, z: 3 * z.relu())
    twin = nn.Sequential(nn.Linear(12, 20), nn.GELU(), nn.Linear(20, 12))
    expect_same_outcome(fuse(copy.deepcopy(twin)).model, twin, called)


class Announced(unseen.Plain):
    heirs = 0

    def __init_subclass__(cls, *, name):
        Announced.heirs += 1


def test_a_class_that_asks_things_of_its_heirs_is_fused():
    assert len(fuse(Announced()).replaced) == 1
    assert Announced.heirs == 0


@pytest.mark.parametrize("around", [torch.inference_mode, torch.no_grad, lambda: torch.device("meta")])
@pytest.mark.parametrize("make", [LlamaStyle, ClipStyle])
def test_as_much_is_fused_whatever_mode_is_on(make, around):
    block = make()
    with around():
        report = fuse(block)
    assert [item.activation for item in report.replaced] == [fuse(make()).replaced[0].activation]
    assert not report.kept


def test_a_default_device_does_not_keep_the_operation_from_running():
    block, ran = fuse(unseen.Plain()).model, []
    (fused_call,) = block._fused_sites["forward"].fused_calls
    fused_call._eager = lambda *_: ran.append("the block's own code")
    with torch.device("cpu"):
        block(X)
    assert not ran


def test_a_source_that_changed_since_it_was_loaded_is_not_compiled(tmp_path, monkeypatch):
    text = (
        "import torch\nfrom torch import nn\n"
        "class Block(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.fc1, self.fc2 = nn.Linear(12, 20), nn.Linear(20, 12)\n"
        "    def forward(self, x, double=False):\n"
        "        if x.shape[-1] != 12:\n"
        "            raise ValueError\n"
        "        y = self.fc1(x)\n"
        "        y = y.relu()\n"
        "        y = self.fc2(y)\n"
        "        return y\n"
    )
    file = tmp_path / "changing_block.py"
    file.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    block = __import__("changing_block").Block()
    assert len(fuse(copy.deepcopy(block)).replaced) == 1
    file.write_text(text.replace("y.relu()", "y.gelu()").replace("return y", "return 2 * y"))
    (kept,) = fuse(block).kept
    assert kept.reason == "the source of its forward is not what was loaded"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"model": None}, "model is None; expected an nn.Module"),
        ({"rows": -1}, "rows is -1; expected a whole number"),
        ({"include": [3]}, "include is 3; expected paths, patterns or classes"),
    ],
)
def test_an_argument_of_another_kind_is_named(given, message):
    block = OptStyle()
    with pytest.raises(InvalidArgument, match=re.escape(message)):
        fuse(**({"model": block} | given))
    for function in (fused_mlp.unfuse, fused_mlp.prepare):
        with pytest.raises(InvalidArgument, match="model is 'x'"):
            function("x")
    assert type(block) is OptStyle


@pytest.mark.parametrize("n_layers", [1, 2])
def test_a_weight_that_is_a_vector_later_is_the_block_s_own_affair(n_layers):
    layers = [nn.Linear(12, 20), nn.ReLU(), nn.Linear(20, 12)] if n_layers == 2 else [nn.Linear(12, 20), nn.ReLU()]
    model = nn.Sequential(*layers)
    twin = copy.deepcopy(model)
    assert fuse(model).replaced
    for each in (model, twin):
        each[0].weight, each[0].bias = nn.Parameter(torch.ones(12)), None
    for x in (X, nn.Parameter(X)):
        expect_same_outcome(model, twin, lambda block, x=x: block(x))


def test_hooks_on_what_is_registered_see_nothing_of_fusing():
    """Theirs is what a model is built of, and they may put other layers in its place."""
    model, seen = Stack(LlamaStyle(), ClipStyle(), Merged(), Merged(bias=True)), []
    put = torch_module.register_module_module_registration_hook(lambda *given: seen.append(given))
    try:
        report = fuse(model)
    finally:
        put.remove()
    assert len(report.replaced) == len(model.blocks)
    assert not seen
