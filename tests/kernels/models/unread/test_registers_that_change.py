"""Parameters, buffers and children that come, go or become others of their kind, where a block's code asks for that."""

import copy

import pytest
import torch
from torch import nn

from fused_mlp import fuse
from tests.kernels.models.blocks import Holder, Merged, expect_close, expect_twins

pytestmark = pytest.mark.usefixtures("cpu_kernels")

X = torch.randn(6, 12, generator=torch.Generator().manual_seed(3))


def tripled():
    return nn.Parameter(torch.full((12,), 3.0))


class Scaled(Holder):
    """As blocks with an optional scale are written."""

    def __init__(self, gamma=None):
        super().__init__()
        self.register_parameter("gamma", gamma)

    def forward(self, x):
        y = self.own(x)
        return y if self.gamma is None else y * self.gamma


class Buffered(Holder):
    def __init__(self):
        super().__init__()
        self.register_buffer("gamma", None)

    forward = Scaled.forward


class AsksALayer(Holder):
    def forward(self, x):
        return self.own(x) * (1.0 if self.proj.bias is None else 3.0)


class Listed(Holder):
    def __init__(self):
        super().__init__()
        self.gammas = nn.ParameterList([tripled()])

    def forward(self, x):
        for gamma in self.gammas:
            x = x * gamma
        return self.own(x)


class InATable(Holder):
    def __init__(self):
        super().__init__()
        self.gammas = nn.ParameterDict()

    def forward(self, x):
        return self.own(x) * self.gammas.get("more", 1.0)


class CountsSteps(Holder):
    def __init__(self):
        super().__init__()
        self.steps = nn.Sequential(nn.Identity())

    def forward(self, x):
        return self.own(x) * len(self.steps)


class CountsBuffers(Holder):
    def forward(self, x):
        return self.own(x) * (3.0 if "gamma" in self._buffers else 1.0)


class CountsParameters(Holder):
    def forward(self, x):
        return self.own(x) * len(list(self.parameters()))


class ToADtype(Holder):
    def forward(self, x):
        return self.own(x.to(self.fc.weight.dtype))


class ToADevice(Holder):
    def forward(self, x):
        return self.own(x.to(self.fc.weight.device))


class ByASize(Holder):
    def forward(self, x):
        return self.own(x) / self.fc.weight.shape[0]


class ByARank(Holder):
    def __init__(self):
        super().__init__()
        self.register_buffer("gamma", torch.ones(()))

    def forward(self, x):
        return self.own(x) * (3.0 if self.gamma.dim() else 1.0)


def put(name, value):
    return lambda model: setattr(model, name, value())


def before_its_parameter(layer, name):
    """As libraries do that compute a weight themselves; torch reads an object's own dictionary first."""
    layer.__dict__[name] = 3 * getattr(layer, name).detach()


def prune(model):
    for layer, name, rows in ((model.fc, "weight", 0), (model.fc, "bias", 0), (model.proj, "weight", 1)):
        setattr(layer, name, nn.Parameter(getattr(layer, name).detach().narrow(rows, 0, 8).clone()))


CHANGES = {
    "a parameter comes": (Scaled, put("gamma", tripled)),
    "a parameter goes": (lambda: Scaled(tripled()), put("gamma", lambda: None)),
    "a buffer comes": (Buffered, put("gamma", lambda: torch.full((12,), 3.0))),
    "a layer's bias goes": (AsksALayer, lambda model: model.proj.register_parameter("bias", None)),
    "a parameter in a list": (Listed, lambda model: model.gammas.append(tripled())),
    "a parameter in a table": (InATable, lambda model: model.gammas.update({"more": tripled()})),
    "a step": (CountsSteps, lambda model: model.steps.append(nn.Identity())),
    "a buffer beside": (CountsBuffers, lambda model: model.register_buffer("gamma", torch.ones(1))),
    "a parameter beside": (CountsParameters, put("gamma", tripled)),
    "another dtype": (ToADtype, lambda model: model.double()),
    "other sizes": (ByASize, prune),
    "an attribute before a weight": (Scaled, lambda model: before_its_parameter(model.fc, "weight")),
    "an attribute before a bias": (Scaled, lambda model: before_its_parameter(model.proj, "bias")),
    "a bias of two dimensions": (
        lambda: Merged(bias=True),
        lambda model: setattr(model.gate_up_proj, "bias", nn.Parameter(model.gate_up_proj.bias.detach()[None])),
    ),
    "a bias for all": (
        lambda: Merged(bias=True),
        lambda model: setattr(model.gate_up_proj, "bias", nn.Parameter(torch.tensor(3.0))),
    ),
    "another rank": (ByARank, put("gamma", lambda: torch.ones(12))),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_branch_asks_of_a_register_is_asked_at_each_call(name):
    make, change = CHANGES[name]
    twin = make()
    model = fuse(copy.deepcopy(twin)).model
    expect_twins(model, twin, X)
    copied = copy.deepcopy(model)
    for each in (model, twin, copied):
        change(each)
    expect_twins(model, twin, X)
    expect_twins(copied, twin, X)


def test_a_model_that_moves_takes_its_input_along():
    model = fuse(ToADevice()).model.to("meta")
    assert model(X).is_meta


@pytest.mark.parametrize("make", [Scaled, AsksALayer, ToADtype, ByASize])
def test_such_a_block_is_fused_and_compiled_as_long_as_nothing_changes(make):
    twin = make()
    report = fuse(copy.deepcopy(twin))
    assert len(report.replaced) == 1
    compiled = torch.compile(report.model, backend="eager", fullgraph=True)
    expect_close(compiled(X), twin(X))


class AsksForIdentity(Holder):
    def forward(self, x, y):
        return self.own(x) * (3.0 if x is y else 1.0)


def test_one_tensor_given_twice_is_one():
    twin = AsksForIdentity()
    model = fuse(copy.deepcopy(twin)).model
    expect_close(model(X, X), twin(X, X))
    expect_close(model(X, X.clone()), twin(X, X.clone()))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda model: before_its_parameter(model.fc, "weight"), "fc.weight is set on the layer as an attribute"),
        (lambda model: setattr(model.fc, "bias", nn.Parameter(torch.ones(1, 20))), "fc.bias has 2 dimensions"),
    ],
    ids=["weight", "bias"],
)
def test_a_layer_that_reads_something_else_before_fusing_is_kept_and_named(change, reason):
    twin = Scaled()
    change(twin)
    report = fuse(copy.deepcopy(twin))
    assert not report.replaced
    assert reason in report.kept[0].reason
    expect_twins(report.model, twin, X)
