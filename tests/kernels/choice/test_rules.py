"""The general rule on CUDA: its floors are the published arithmetic, and it picks the level that arithmetic favours."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fused_mlp.choice.rules import (
    ORDINARY_PRODUCT,
    Ceilings,
    Sizes,
    estimate_s,
    floor_s,
    nominal_ceilings,
    ranked_by_rule,
    triton_product_speed,
)
from fused_mlp.vocabulary import Implementation, NumberFormat, Operation

POINTWISE, EPILOGUE, SINGLE = Implementation.POINTWISE, Implementation.EPILOGUE, Implementation.SINGLE
H200 = Ceilings(bytes_per_s=4.3e12, flop_per_s={NumberFormat.BFLOAT16: 790e12}, launch_s=2.5e-6, multiprocessors=132)


def sizes(operation, rows, dim, hidden, number_format=NumberFormat.BFLOAT16):
    n_out = hidden if operation == "linear" else dim
    return Sizes(
        operation=Operation(operation), rows=rows, dim=dim, hidden=hidden, n_out=n_out, number_format=number_format
    )


# (operation, rows, dim, hidden): floors in µs at levels 0, 2 and 3, worked out by hand from the bytes and FLOP of each
# launch; the level the rule takes of those with kernels of ours, at an H200's ceilings.
FLOORS = [
    (("mlp", 16, 1024, 4096), (11.5, 9.0, 6.4), EPILOGUE),
    (("mlp", 1024, 1024, 4096), (33.1, 26.7, 24.2), POINTWISE),
    (("mlp", 8192, 1024, 4096), (213, 179, 177), POINTWISE),
    (("mlp", 16, 4096, 16384), (70.5, 67.7, 65.0), EPILOGUE),
    (("mlp", 65536, 64, 256), (42.6, 24.5, 7.9), SINGLE),
    (("mlp", 65536, 128, 512), (77.8, 44.1, 24.2), SINGLE),
    (("gated_mlp", 8192, 1024, 2816), (246, 184, 182), POINTWISE),
    (("gated_mlp", 16, 4096, 11008), (76.2, 68.1, 65.5), EPILOGUE),
]


def possible_levels(shape):
    _, rows, dim, _ = shape
    return [POINTWISE, EPILOGUE, SINGLE] if rows <= 64 or dim <= 256 else [POINTWISE, EPILOGUE]


def best(shape, *, capability=90):
    ranked = ranked_by_rule(sizes(*shape), H200, possible=possible_levels(shape), capability=capability)
    return ranked[0][0]


@pytest.mark.parametrize(("shape", "floors_us", "level"), FLOORS, ids=str)
def test_the_floors_are_those_worked_out_by_hand(shape, floors_us, level):
    actual = [floor_s(sizes(*shape), H200, level=each) * 1e6 for each in (0, 2, 3)]
    assert actual == pytest.approx(floors_us, rel=0.005)


@pytest.mark.parametrize(("shape", "floors_us", "level"), FLOORS, ids=str)
def test_the_rule_takes_the_level_the_arithmetic_favours(shape, floors_us, level):
    assert best(shape) is level


@pytest.mark.parametrize("capability", [80, 90])
@pytest.mark.parametrize("rows", [2048, 16384])
@pytest.mark.parametrize("shape", [("mlp", 4096, 16384), ("gated_mlp", 4096, 14336)], ids=str)
def test_large_products_are_left_to_cublas(shape, rows, capability):
    operation, *widths = shape
    assert best((operation, rows, *widths), capability=capability) is POINTWISE


def test_of_an_activation_that_cublaslt_knows_its_product_is_taken_where_the_pass_it_spares_is_worth_more():
    levels = [POINTWISE, Implementation.CUBLASLT, EPILOGUE]
    taken = [
        ranked_by_rule(sizes("mlp", rows, dim, 4 * dim), H200, possible=levels, capability=90)[0][0]
        for rows, dim in ((1, 1024), (8192, 1024), (8192, 4096))
    ]
    assert taken == [Implementation.CUBLASLT, Implementation.CUBLASLT, POINTWISE]


def test_a_full_tile_with_too_few_rows_for_the_device_is_not_taken():
    assert best(("mlp", 4096, 256, 1024)) is EPILOGUE
    assert best(("mlp", 65536, 256, 1024)) in (EPILOGUE, SINGLE)


def test_one_row_is_one_launch():
    assert best(("mlp", 1, 64, 256)) is SINGLE
    assert best(("gated_mlp", 1, 256, 1024)) is SINGLE


@pytest.mark.parametrize(("operation", "constant"), [("mlp", 184), ("gated_mlp", 306)])
@pytest.mark.parametrize("dim", [1024, 4096])
def test_the_pass_that_level_2_saves_is_the_stated_part_of_the_products(operation, constant, dim):
    many = sizes(operation, 2**20, dim, 4 * dim)
    saved = floor_s(many, H200, level=0) - floor_s(many, H200, level=2)
    assert saved / floor_s(many, H200, level=3) == pytest.approx(constant / dim, rel=0.01)


def test_a_pipelined_triton_product_is_as_fast_as_was_measured_between_what_was_measured():
    speeds = [triton_product_speed(sizes("mlp", 8192, dim, 4 * dim), capability=90) for dim in (64, 1024, 2048, 16384)]
    assert speeds == pytest.approx([0.70, 0.70, 0.68, 0.66], abs=1e-3)


@pytest.mark.parametrize(
    ("rows", "capability", "number_format"),
    [(1024, 90, NumberFormat.BFLOAT16), (8192, 80, NumberFormat.BFLOAT16), (8192, 90, NumberFormat.TF32)],
    ids=["fewer-rows", "before-hopper", "tf32"],
)
def test_other_triton_products_are_taken_as_slower(rows, capability, number_format):
    speed = triton_product_speed(sizes("mlp", rows, 1024, 4096, number_format), capability=capability)
    assert speed == ORDINARY_PRODUCT


def test_nominal_ceilings_of_an_h200_are_near_its_measured_ones():
    nominal = nominal_ceilings(capability=90, multiprocessors=132, clock_hz=1.98e9, bytes_per_s=4.8e12)
    assert nominal.bytes_per_s == pytest.approx(H200.bytes_per_s, rel=0.02)
    assert nominal.flop_per_s[NumberFormat.BFLOAT16] == pytest.approx(790e12, rel=0.05)


def test_an_implementation_without_an_estimate_is_refused():
    with pytest.raises(ValueError, match="no estimate for cpp"):
        estimate_s(sizes("mlp", 1, 1, 1), H200, implementation=Implementation.CPP, capability=90)


@given(
    operation=st.sampled_from(list(Operation)),
    rows=st.integers(1, 2**17),
    dim=st.integers(1, 2**14),
    hidden=st.integers(1, 2**14),
)
def test_more_fusion_never_has_a_higher_floor_and_no_estimate_is_below_its_floor(operation, rows, dim, hidden):
    one = sizes(operation, rows, dim, hidden)
    floors = [floor_s(one, H200, level=level) for level in (0, 1, 2, 3)]
    assert all(lower <= higher * (1 + 1e-9) for higher, lower in itertools.pairwise(floors))
    for implementation, level in ((POINTWISE, 1), (EPILOGUE, 2), (Implementation.CUBLASLT, 2), (SINGLE, 3)):
        estimate = estimate_s(one, H200, implementation=implementation, capability=90)
        assert math.isfinite(estimate)
        assert estimate >= floors[level] * (1 - 1e-9)
