"""The bounds themselves: no arithmetic they allow is beyond them, and any that is less exact is found."""

from itertools import product

import pytest
import torch

from fused_mlp.activations import activate
from tests.kernels.cases import EVERY_OPERATOR, FUSED, OPERATIONS, Roundings, onednn_roundings

LINEAR, _, GATED = OPERATIONS
HALF = (torch.bfloat16, torch.float16)
SHAPES = [{"rows": rows, "dim": dim, "hidden": hidden} for rows, dim, hidden in product((130,), (3, 127), (17, 130))]
# quick_gelu where oneDNN has it not: a pass of its own over sums that are rounded already.
ROUNDED_SUMS = Roundings(z=True)


def rounded(values, dtype, *, is_rounded=True):
    """As an implementation keeps it: in `dtype`, or in float32."""
    return values.float().to(dtype).double() if is_rounded else values.float().double()


def activated(z, activation, dtype, roundings):
    return activate(rounded(z, dtype, is_rounded=roundings.z), activation)


def linear(case, activation, dtype, roundings):
    x, w, b = (a.double() for a in case.arguments)
    return rounded(activated(x @ w.t() + b, activation, dtype, roundings), dtype)


def gated_mlp(case, activation, dtype, roundings):
    x, w_gate, w_up, w_down = (a.double() for a in case.arguments)
    gate = rounded(activated(x @ w_gate.t(), activation, dtype, roundings), dtype, is_rounded=roundings.gate)
    up = rounded(x @ w_up.t(), dtype, is_rounded=roundings.up)
    return rounded(rounded(gate * up, dtype) @ w_down.t(), dtype)


def worst(operation, computed, *, activation, dtype, roundings, counted):
    """The largest error of `computed` with `roundings` in units of the bound that counts those of `counted`."""
    ratios = []
    for shape in SHAPES:
        case = operation.case(**shape, dtype=dtype, activation=activation, roundings=counted)
        error = (computed(case, activation, dtype, roundings) - case.expected).abs()
        ratios.append((error / case.bound).max())
    return max(ratios)


@pytest.mark.parametrize("dtype", HALF, ids=str)
@pytest.mark.parametrize("roundings", [FUSED, ROUNDED_SUMS, Roundings(gate=True), EVERY_OPERATOR], ids=repr)
@pytest.mark.parametrize(("operation", "computed"), [(LINEAR, linear), (GATED, gated_mlp)], ids=["linear", "gated"])
def test_exact_arithmetic_with_the_roundings_that_are_counted_is_within_the_bound(
    operation, computed, activation, dtype, roundings
):
    given = {"activation": activation, "dtype": dtype, "roundings": roundings}
    assert worst(operation, computed, **given, counted=roundings) <= 1


@pytest.mark.parametrize("dtype", HALF, ids=str)
@pytest.mark.parametrize("name", ["gelu", "gelu_tanh", "silu", "quick_gelu"])
def test_a_rounding_of_the_sums_that_is_not_counted_is_found(name, dtype):
    given = {"activation": name, "dtype": dtype, "roundings": ROUNDED_SUMS}
    assert worst(LINEAR, linear, **given, counted=FUSED) > 1


def off_slope(case, activation, dtype, roundings):
    x, w, b = (a.double() for a in case.arguments)
    z = rounded(x @ w.t() + b, dtype, is_rounded=roundings.z)
    return rounded(z * torch.sigmoid(1.71 * z), dtype)


def rounded_at_every_step(case, activation, dtype, roundings):
    x, w, b = (a.double() for a in case.arguments)
    z = rounded(x @ w.t() + b, dtype)
    return rounded(z * rounded(torch.sigmoid(rounded(1.702 * z, dtype)), dtype), dtype)


def without_bias(case, activation, dtype, roundings):
    x, w, _ = (a.double() for a in case.arguments)
    return rounded(activated(x @ w.t(), activation, dtype, roundings), dtype)


@pytest.mark.parametrize("dtype", HALF, ids=str)
@pytest.mark.parametrize("faulty", [off_slope, rounded_at_every_step, without_bias])
def test_a_faulty_pass_over_rounded_sums_is_found_all_the_same(faulty, dtype):
    given = {"activation": "quick_gelu", "dtype": dtype, "roundings": ROUNDED_SUMS}
    assert worst(LINEAR, faulty, **given, counted=onednn_roundings("quick_gelu")) > 1


def test_only_quick_gelu_is_a_pass_of_its_own_beside_onednn(activation):
    assert onednn_roundings(activation).z is (activation == "quick_gelu")
