"""Blocks that write into a layer's parameters between the layers before it and itself."""

import copy

import pytest
import torch

from fused_mlp import fuse
from tests.kernels.models.blocks import GptStyle, expect_close

pytestmark = pytest.mark.usefixtures("cpu_kernels")

X = torch.randn(6, 12, generator=torch.Generator().manual_seed(3))


class Scales(GptStyle):
    def forward(self, x):
        hidden = self.fc(x)
        self.proj.weight.mul_(x.mean())
        return self.proj(hidden.relu())


class AddsInto(GptStyle):
    def forward(self, x):
        hidden = self.fc(x)
        torch.add(self.proj.weight, x.mean(), out=self.proj.weight)
        return self.proj(hidden.relu())


class Copies(GptStyle):
    def forward(self, x):
        hidden = self.fc(x)
        self.proj.bias.copy_(x.mean(0)).mul_(2)
        return self.proj(hidden.relu())


class ScalesBefore(GptStyle):
    def forward(self, x):
        self.proj.weight.mul_(x.mean())
        return self.proj(self.fc(x).relu())


@pytest.mark.parametrize("mode", ["training", "inference"])
@pytest.mark.parametrize("kind", [Scales, AddsInto, Copies, ScalesBefore])
def test_a_layer_is_computed_with_what_was_written_before_it(kind, mode):
    twin = kind().requires_grad_(requires_grad=False)
    model = copy.deepcopy(twin)
    operations = {row.operation for row in fuse(model, mode=mode).replaced}
    assert operations == ({"mlp"} if kind is ScalesBefore else {"linear"})
    for training in (False, True):
        model.train(training)
        twin.train(training)
        expect_close(model(X), twin(X))
        expect_close([*model.parameters()], [*twin.parameters()])
