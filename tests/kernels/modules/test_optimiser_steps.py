"""A prepared module after an optimiser's step: fused optimisers write the weights and leave their counters alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn

import fused_mlp

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("cpu_kernels")


class WritesThroughData(torch.optim.Optimizer):
    """As many optimisers outside torch do."""

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters, {})

    def step(self, closure: Any = None) -> None:
        del closure
        for parameter in self.param_groups[0]["params"]:
            parameter.data.mul_(3)


OPTIMISERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, 0.5, fused=True),
    "adam": lambda parameters: torch.optim.Adam(parameters, 0.5, fused=True),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, 0.5, fused=True),
    "adagrad": lambda parameters: torch.optim.Adagrad(parameters, 0.5, fused=True),
    "foreach": lambda parameters: torch.optim.Adam(parameters, 0.5, foreach=True),
    "data": WritesThroughData,
}


def _modules() -> list[nn.Module]:
    return [
        fused_mlp.FusedLinear(6, 10, activation="relu"),
        fused_mlp.FusedMLP(6, 10, bias=False),
        fused_mlp.FusedGatedMLP(6, 10),
    ]


@pytest.mark.parametrize("name", OPTIMISERS)
@pytest.mark.parametrize("implementation", ["cpp", "onednn"])
def test_packs_are_dropped_after_a_step_of_any_optimiser(name: str, implementation: str) -> None:
    for module in _modules():
        module.prepare(implementation=implementation)
        optimiser = OPTIMISERS[name](module.parameters())
        x = torch.randn(3, 6)
        module(x).square().sum().backward()

        optimiser.step()

        assert not module.is_prepared
        expected = module(x).detach()
        with torch.no_grad():
            torch.testing.assert_close(module(x), expected)


def test_packs_of_a_module_that_the_optimiser_does_not_hold_stay() -> None:
    trained, other = fused_mlp.FusedMLP(6, 10), fused_mlp.FusedMLP(6, 10)
    trained.prepare()
    other.prepare()
    optimiser = torch.optim.Adam(trained.parameters(), fused=True)
    trained(torch.randn(3, 6)).sum().backward()

    optimiser.step()

    assert not trained.is_prepared
    assert other.is_prepared


def test_an_optimiser_of_biases_alone_leaves_the_packs() -> None:
    module = fused_mlp.FusedMLP(6, 10)
    module.prepare()
    biases = [parameter for name, parameter in module.named_parameters() if name.endswith("bias")]
    for name, parameter in module.named_parameters():
        parameter.requires_grad_(name.endswith("bias"))
    optimiser = torch.optim.SGD(biases, 0.5, fused=True)
    x = torch.randn(3, 6)
    module(x).sum().backward()

    optimiser.step()

    assert module.is_prepared
    expected = module(x).detach()
    with torch.no_grad():
        torch.testing.assert_close(module(x), expected)


@pytest.mark.filterwarnings("ignore:.*script_method:DeprecationWarning")  # torch's own, while it compiles
def test_packs_are_dropped_after_a_compiled_step() -> None:
    module = fused_mlp.FusedMLP(6, 10)
    module.prepare()
    optimiser = torch.optim.Adam(module.parameters(), 0.5)
    module(torch.randn(3, 6)).sum().backward()

    torch.compile(optimiser.step, backend="aot_eager")()

    assert not module.is_prepared
