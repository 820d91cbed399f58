"""The activations as Triton computes them, in its interpreter, against float64 over all of float32's range."""

import pytest
import torch

pytest.importorskip("triton", reason="triton is not installed")

import triton
import triton.language as tl

from fused_mlp.activations import activate as activate_in_torch
from fused_mlp.gpu.activations import activate, activate_with_slope

pytestmark = pytest.mark.interpreter

UNIT = torch.finfo(torch.float32).eps / 2


@triton.jit
def activation_kernel(z_ptr, y_ptr, slope_ptr, n, ACTIVATION: tl.constexpr, BLOCK: tl.constexpr):  # noqa: N803 - as in kernels
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    z = tl.load(z_ptr + places, mask=places < n, other=0.0)
    tl.store(y_ptr + places, activate(z, ACTIVATION), mask=places < n)
    _, slope = activate_with_slope(z, ACTIVATION)
    tl.store(slope_ptr + places, slope, mask=places < n)


def computed(z, activation):
    y, slope = torch.empty_like(z), torch.empty_like(z)
    activation_kernel[(triton.cdiv(z.numel(), 4096),)](z, y, slope, z.numel(), str(activation), 4096)
    return y, slope


def everywhere():
    """Densely where the functions bend, and every magnitude float32 has, of both signs."""
    magnitudes = torch.logspace(-30, 18, 4001, dtype=torch.float64).float()
    return torch.cat([torch.linspace(-14, 14, 100_001), magnitudes, -magnitudes])


# The interpreter overflows in exp on the way to a sigmoid of 0, as a GPU does silently.
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_an_activation_is_within_four_units_of_its_argument(activation):
    z = everywhere()
    y, _ = computed(z, activation)
    exact = activate_in_torch(z.double(), str(activation))
    units = ((y.double() - exact).abs() - UNIT * exact.abs()) / (z.double().abs() * UNIT)
    assert units.max() <= 4


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_a_slope_is_within_4e_6(activation):
    z = everywhere()[:100_001].requires_grad_()
    _, slope = computed(z.detach(), activation)
    wide = z.detach().double().requires_grad_()
    (exact,) = torch.autograd.grad(activate_in_torch(wide, str(activation)).sum(), wide)
    assert (slope.double() - exact).abs().max() <= 4e-6


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_infinity_and_nan_are_passed_on(activation):
    y, _ = computed(torch.tensor([torch.inf, torch.nan]), activation)
    assert y[0] == torch.inf
    assert torch.isnan(y[1])
