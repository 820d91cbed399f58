"""The activations alone, through a one-by-one product: accurate everywhere, sane at the ends."""

import pytest
import torch

import fused_mlp
from fused_mlp import reference

pytestmark = pytest.mark.usefixtures("cpu_kernels")

ONE = torch.ones(1, 1)


def applied(values, activation):
    return fused_mlp.linear(values[:, None], ONE, activation=activation)[:, 0]


def test_an_activation_is_within_eight_units_of_its_argument(activation):
    x = torch.cat([torch.linspace(-12, 12, 20_001), torch.logspace(-30, 30, 601), -torch.logspace(-30, 30, 601)])
    expected = reference.linear(x.double()[:, None], ONE.double(), activation=activation)[:, 0]
    unit = torch.finfo(torch.float32).eps / 2
    assert ((applied(x, activation).double() - expected).abs() <= 8 * unit * x.double().abs()).all()


def test_far_below_zero_an_activation_is_zero(activation):
    assert (applied(torch.tensor([-200.0, -1e4, -1e30]), activation) == 0).all()


def test_nan_stays_nan(activation):
    assert applied(torch.tensor([torch.nan] * 20), activation).isnan().all()
