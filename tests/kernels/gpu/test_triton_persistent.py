"""The persistent kernels: right in the interpreter wherever the TMA can read, refused with a reason elsewhere."""

import pytest
import torch

pytest.importorskip("triton", reason="triton is not installed")

from fused_mlp import reference
from fused_mlp.gated_mlp.triton_dual_product import (
    candidates_for_dual_product,
    configurations,
    launch_dual_product,
    tiles_for_dual_product,
    tiles_for_dual_product_saving,
)
from fused_mlp.gpu.tiles import Tiles
from fused_mlp.linear import triton_epilogue
from fused_mlp.linear.triton_epilogue import candidates_for_linear, launch_linear, tiles_for_linear
from fused_mlp.linear.triton_persistent import why_not_persistent
from tests.kernels.cases import activated_bound, linear_activated_bound, linear_bound, padded_with_nan, rounding_bound

# Of a GELU far below zero: 1 / (1 + inf) is the 0 that is meant.
pytestmark = [
    pytest.mark.sample,
    pytest.mark.filterwarnings("ignore:overflow encountered in exp2:RuntimeWarning"),
]

# Rows of 8 elements start at multiples of 16 bytes; fewer and more tiles than the interpreter's three programs.
SHAPES = [(1, 8, 8), (70, 24, 200), (130, 136, 72)]
SMALL = Tiles(block_rows=32, block_out=64, block_in=32, group_rows=2, n_warps=4, n_stages=1, persistent=True)


@pytest.fixture(params=[torch.bfloat16, torch.float16], ids=["bfloat16", "float16"])
def half(request):
    return request.param


def drawn(*shape, dtype, scale=1.0):
    torch.manual_seed(sum(shape))
    return padded_with_nan((torch.randn(*shape) * scale).to(dtype))


def assert_within(actual, expected, bound, dtype):
    # The interpreter cuts float32 to bfloat16 where a device rounds: a whole unit instead of half a one.
    bound = bound + rounding_bound(expected, dtype, units=2.0)
    assert not torch.isnan(actual).any()
    excess = (actual.double() - expected).abs() - bound
    assert excess.max() <= 0, f"beyond its bound by {excess.max():.3g}"


@pytest.fixture
def ordinary_kernels_forbidden(monkeypatch):
    from fused_mlp.gated_mlp import triton_dual_product

    for module in (triton_epilogue, triton_dual_product):
        monkeypatch.setattr(module, "start_product", lambda *_, **__: pytest.fail("the ordinary kernel was started"))


@pytest.mark.interpreter
@pytest.mark.parametrize(("rows", "n_in", "n_out"), SHAPES)
def test_the_linear_one_is_within_its_bound(half, activation, rows, n_in, n_out, ordinary_kernels_forbidden):
    x, w = drawn(rows, n_in, dtype=half), drawn(n_out, n_in, dtype=half, scale=n_in**-0.5)
    b = drawn(n_out, dtype=half) if rows > 1 else None
    wide = x.double(), w.double(), None if b is None else b.double()
    actual = launch_linear(x, w, b, activation=str(activation), tiles=SMALL)
    expected = reference.linear(*wide, activation=activation)
    assert_within(actual, expected, linear_activated_bound(*wide, dtype=half, activation=activation), half)


@pytest.mark.interpreter
@pytest.mark.parametrize(("rows", "n_in", "n_out"), SHAPES)
def test_the_dual_one_is_within_its_bound(half, activation, rows, n_in, n_out, ordinary_kernels_forbidden):
    x, w_gate = drawn(rows, n_in, dtype=half), drawn(n_out, n_in, dtype=half, scale=n_in**-0.5)
    w_up = drawn(n_out, n_in, dtype=half, scale=-(n_in**-0.5))
    wx, wg, wu = x.double(), w_gate.double(), w_up.double()
    gate, up = reference.linear(wx, wg, activation=activation), reference.linear(wx, wu)
    gate_error = activated_bound(reference.linear(wx, wg), linear_bound(wx, wg, None))
    up_error = linear_bound(wx, wu, None)
    bound = gate_error * up.abs() + up_error * gate.abs() + gate_error * up_error
    actual = launch_dual_product(x, w_gate, w_up, activation=str(activation), tiles=SMALL)
    assert_within(actual, gate * up, bound, half)


@pytest.mark.interpreter
def test_rows_the_tma_cannot_read_are_computed_by_the_ordinary_kernel(monkeypatch):
    monkeypatch.setattr(
        triton_epilogue, "start_linear_persistent", lambda *_, **__: pytest.fail("the persistent kernel was started")
    )
    x, w = torch.randn(5, 7).half(), torch.randn(3, 7).half()
    y = launch_linear(x, w, None, activation="none", tiles=SMALL)
    torch.testing.assert_close(y, x @ w.t(), atol=2e-2, rtol=1e-2)


def test_aligned_halves_on_hopper_are_taken():
    assert why_not_persistent(torch.empty(4, 16).half(), torch.empty(8, 16).half(), capability=90) is None


@pytest.mark.parametrize(
    ("x", "w", "capability", "reason"),
    [
        (torch.empty(4, 16).half(), torch.empty(8, 16).half(), 80, "needs sm_90"),
        (torch.empty(4, 16), torch.empty(8, 16), 90, "not float32"),
        (torch.empty(4, 15).half(), torch.empty(8, 15).half(), 90, "needs rows that start"),
        (torch.empty(4, 24).half()[:, 1:17], torch.empty(8, 16).half(), 90, "needs rows that start"),
        (torch.empty(4, 16).half(), torch.empty(7, 16).half(), 90, "rows of the result"),
    ],
    ids=["before-hopper", "float32", "odd-rows", "odd-address", "odd-result"],
)
def test_what_the_tma_cannot_take_is_refused_with_a_reason(x, w, capability, reason):
    assert reason in why_not_persistent(x, w, capability=capability)


@pytest.mark.parametrize("rule", [tiles_for_linear, tiles_for_dual_product], ids=["linear", "dual"])
def test_the_rule_takes_it_for_many_rows_of_16_bits_from_hopper_on(rule):
    assert rule(4096, torch.bfloat16, capability=90).persistent
    assert not rule(4096, torch.float32, capability=90).persistent
    assert not rule(4096, torch.bfloat16, capability=80).persistent
    assert not rule(1024, torch.bfloat16, capability=90).persistent
    assert not rule(4096, torch.bfloat16, capability=90, persistent=False).persistent


@pytest.mark.parametrize("n_rows", [1, 64, 256, 1024, 4096, 16384])
@pytest.mark.parametrize(
    ("rule", "candidates"),
    [(tiles_for_linear, candidates_for_linear), (tiles_for_dual_product, candidates_for_dual_product)],
    ids=["linear", "dual"],
)
def test_whatever_the_rule_takes_for_any_width_is_among_what_is_compiled(rule, candidates, n_rows):
    for dtype in (torch.float32, torch.bfloat16):
        for capability in (80, 90):
            for persistent in (True, False):
                for n_out in (16, 256, 512, 1024, 4096, 16384, None):
                    chosen = rule(n_rows, dtype, capability=capability, n_out=n_out, persistent=persistent)
                    assert chosen in candidates(n_rows, dtype, capability=capability)


def test_what_keeps_gate_and_up_has_no_sums_that_would_spill_and_is_compiled():
    compiled = {str(one) for one in configurations(capability=90)}
    for n_out in (1024, 65536):
        tiles = tiles_for_dual_product_saving(8192, torch.bfloat16, capability=90, n_out=n_out)
        assert tiles.block_rows * tiles.block_out < 128 * 128
        size = f"{tiles.block_rows}x{tiles.block_out}x{tiles.block_in}"
        kept = f"dual_product_kernel-bfloat16-{size}g{tiles.group_rows}-kept-{tiles.n_warps}w{tiles.n_stages}s"
        assert kept in compiled


def test_narrow_results_of_few_rows_are_cut_into_more_tiles():
    narrow = tiles_for_linear(16, torch.bfloat16, capability=90, n_out=1024)
    assert narrow.block_out < tiles_for_linear(16, torch.bfloat16, capability=90, n_out=16384).block_out


@pytest.mark.parametrize(
    ("candidates", "widths"), [(candidates_for_linear, {128, 256}), (candidates_for_dual_product, {128})]
)
def test_tuning_tries_the_tma_s_tiles_from_as_many_rows_as_they_have(candidates, widths):
    def tried(n_rows, dtype=torch.bfloat16, capability=90):
        return [one for one in candidates(n_rows, dtype, capability=capability) if one.persistent]

    for n_rows in (128, 512, 1024):
        assert {one.block_out for one in tried(n_rows) if one.block_rows == 128} == widths
        assert all(one.block_rows <= n_rows for one in tried(n_rows))
    assert tried(127) == tried(512, torch.float32) == tried(512, capability=80) == []


@pytest.mark.parametrize("candidates", [candidates_for_linear, candidates_for_dual_product], ids=["linear", "dual"])
def test_tuning_tries_the_rule_first_and_nothing_twice(candidates):
    for n_rows in (1, 16, 17, 64, 1024, 8192):
        for dtype in (torch.float32, torch.bfloat16):
            tried = candidates(n_rows, dtype, capability=90)
            assert len(set(tried)) == len(tried) >= 2
    assert candidates_for_linear(1, torch.float16, capability=90)[0] == tiles_for_linear(
        1, torch.float16, capability=90
    )
