"""Level 3 in one launch, in Triton's interpreter, is within its bounds, leaves its memory clean, keeps its order."""

import itertools
import random
from dataclasses import replace

import pytest
import torch

pytest.importorskip("triton", reason="triton is not installed")

from tests.kernels.cases import OPERATIONS, padded_with_nan

pytestmark = [pytest.mark.interpreter, pytest.mark.sample]

SPLIT_SHAPES = [(1, 3, 17), (3, 130, 127), (17, 17, 130)]
FULL_SHAPES = [(1, 130, 17), (130, 3, 127), (127, 17, 33)]


def a_single(name):
    """What a test needs of one operation: launcher, rule, kinds of launches and oracle."""
    from importlib import import_module

    single = import_module(f"fused_mlp.{name}.triton_single")
    return {
        "launch": getattr(single, f"launch_{name}_single"),
        "tiles_for": getattr(single, f"tiles_for_{name}_single"),
        "candidates_for": getattr(single, f"candidates_for_{name}_single"),
        "why_not": single.why_not_single,
        "operation": next(operation for operation in OPERATIONS if operation.name == name),
    }


@pytest.fixture(params=["mlp", "gated_mlp"])
def single(request):
    return a_single(request.param)


def split_tile(*, block_rows=16, block_hidden=32, block_in=64, block_out=64):
    from fused_mlp.gpu.single_tiles import SplitTile

    return SplitTile(
        block_rows=block_rows,
        block_hidden=block_hidden,
        block_in=block_in,
        block_out=block_out,
        n_warps=4,
        n_stages=3,
    )


def full_tile(*, block_rows=64, block_hidden=32):
    from fused_mlp.gpu.single_tiles import FullTile

    return FullTile(block_rows=block_rows, block_hidden=block_hidden, n_warps=4, n_stages=2)


def surrounded(case):
    return [None if a is None else padded_with_nan(a) for a in case.arguments]


def assert_right(y, case, dtype):
    # The interpreter cuts float32 to bfloat16 where a device rounds: h and y are off by a unit instead of half of one.
    bound = case.bound * (2 if dtype == torch.bfloat16 else 1)
    assert y.dtype == dtype
    assert not torch.isnan(y).any()
    excess = ((y.double() - case.expected).abs() - bound).max()
    assert excess <= 0, f"beyond its bound by {excess:.3g}"


@pytest.fixture
def adding_with_atomics(monkeypatch):
    """The parts are added by atomics however few bytes they are."""
    from fused_mlp.gpu import partials as triton_partials

    monkeypatch.setattr(triton_partials, "MOST_ORDERED_BYTES", 0)


@pytest.mark.parametrize(("rows", "dim", "hidden"), SPLIT_SHAPES)
def test_split_hidden_is_within_its_bound(single, dtype, activation, rows, dim, hidden):
    case = single["operation"].case(rows=rows, dim=dim, hidden=hidden, dtype=dtype, activation=activation)
    y = single["launch"](*surrounded(case), activation=str(activation), tiles=split_tile())
    assert_right(y, case, dtype)


@pytest.mark.usefixtures("adding_with_atomics")
@pytest.mark.parametrize(("rows", "dim", "hidden"), [*SPLIT_SHAPES, (40, 300, 33), (16, 64, 128)])
def test_split_hidden_is_within_its_bound_when_atomics_add(single, dtype, rows, dim, hidden):
    case = single["operation"].case(rows=rows, dim=dim, hidden=hidden, dtype=dtype, activation="gelu")
    y = single["launch"](*surrounded(case), activation="gelu", tiles=split_tile())
    assert_right(y, case, dtype)


@pytest.mark.parametrize(("rows", "dim", "hidden"), FULL_SHAPES)
def test_the_full_tile_is_within_its_bound(single, dtype, activation, rows, dim, hidden):
    case = single["operation"].case(rows=rows, dim=dim, hidden=hidden, dtype=dtype, activation=activation)
    y = single["launch"](*surrounded(case), activation=str(activation), tiles=full_tile())
    assert_right(y, case, dtype)


@pytest.mark.exhaustive
@pytest.mark.parametrize("tile", ["full", "split"])
@pytest.mark.parametrize(("rows", "dim", "hidden"), list(itertools.product((1, 3, 17, 127, 130), repeat=3))[::6])
def test_every_mix_of_odd_sizes_is_within_its_bound(single, dtype, rows, dim, hidden, tile):
    case = single["operation"].case(rows=rows, dim=dim, hidden=hidden, dtype=dtype, activation="silu")
    tiles = full_tile() if tile == "full" else split_tile(block_rows=64)
    y = single["launch"](*surrounded(case), activation="silu", tiles=tiles)
    assert_right(y, case, dtype)


@pytest.mark.parametrize("rows", [1, 64, 200])
def test_the_rule_s_own_choice_is_within_its_bound(single, rows):
    case = single["operation"].case(rows=rows, dim=48, hidden=80, dtype=torch.float16, activation="gelu_tanh")
    assert_right(single["launch"](*surrounded(case), activation="gelu_tanh"), case, torch.float16)


@pytest.mark.parametrize("tiles", [split_tile, full_tile], ids=["split", "full"])
@pytest.mark.parametrize("n_out", [1, 20, 70])
def test_out_need_not_be_as_wide_as_dim(single, n_out, tiles):
    case = single["operation"].case(rows=5, dim=33, hidden=40, dtype=torch.float32, activation="relu")
    down = 3
    arguments = list(case.arguments)
    arguments[down] = torch.randn(n_out, 40)
    if single["operation"].name == "mlp":
        arguments[4] = torch.randn(n_out)
    expected = single["operation"].oracle(*(a.double() for a in arguments), activation="relu")
    y = single["launch"](*(padded_with_nan(a) for a in arguments), activation="relu", tiles=tiles())
    torch.testing.assert_close(y, expected.float(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("tiles", [split_tile, full_tile], ids=["split", "full"])
@pytest.mark.parametrize("missing", [(2,), (4,), (2, 4)], ids=["b1", "b2", "both"])
def test_an_mlp_may_lack_either_bias(missing, tiles):
    single = a_single("mlp")
    case = single["operation"].case(rows=5, dim=33, hidden=40, dtype=torch.float32, activation="relu")
    arguments = [None if i in missing else a for i, a in enumerate(case.arguments)]
    wide = [None if a is None else a.double() for a in arguments]
    expected = single["operation"].oracle(*wide, activation="relu")
    y = single["launch"](*arguments, activation="relu", tiles=tiles())
    torch.testing.assert_close(y, expected.float(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("tiles", [split_tile, full_tile], ids=["split", "full"])
def test_leading_dimensions_and_columns_in_the_wrong_order_are_taken(single, tiles):
    case = single["operation"].case(rows=12, dim=20, hidden=24, dtype=torch.float32, activation="relu")
    x, first, *rest = case.arguments
    arguments = x.t().contiguous().t().reshape(3, 4, 20), first.t().contiguous().t(), *rest
    y = single["launch"](*arguments, activation="relu", tiles=tiles())
    assert y.shape == (3, 4, 20)
    assert_right(y.reshape(12, 20), case, torch.float32)


def test_zero_rows_launch_nothing(single):
    case = single["operation"].case(rows=1, dim=4, hidden=3, dtype=torch.float32, activation="relu")
    x, *rest = case.arguments
    assert single["launch"](x[:0], *rest, activation="relu").shape == (0, 4)


@pytest.mark.parametrize("ordered", [True, False], ids=["ordered", "atomics"])
def test_a_launch_leaves_its_workspace_as_it_found_it(single, ordered, monkeypatch):
    from fused_mlp.gpu import partials as triton_partials
    from fused_mlp.gpu.workspace import workspace_for

    monkeypatch.setattr(triton_partials, "MOST_ORDERED_BYTES", 1 << 30 if ordered else 0)
    case = single["operation"].case(rows=40, dim=33, hidden=70, dtype=torch.float32, activation="gelu")
    calls = [single["launch"](*case.arguments, activation="gelu", tiles=split_tile()) for _ in range(3)]
    workspace = workspace_for(torch.device("cpu"), n_counters=3, n_sums=40 * 33)
    assert not workspace.counters.any()
    assert not workspace.sums.any()
    assert torch.equal(calls[0], calls[1])
    assert torch.equal(calls[0], calls[2])


def test_what_the_scratch_of_ordered_parts_held_before_does_not_matter(single, monkeypatch):
    new_empty = torch.Tensor.new_empty

    def poisoned(self, *args, **kwargs):
        made = new_empty(self, *args, **kwargs)
        return made.fill_(torch.nan) if made.is_floating_point() else made

    monkeypatch.setattr(torch.Tensor, "new_empty", poisoned)
    case = single["operation"].case(rows=40, dim=33, hidden=70, dtype=torch.float32, activation="gelu")
    assert_right(single["launch"](*case.arguments, activation="gelu", tiles=split_tile()), case, torch.float32)


def test_a_workspace_that_is_not_clean_would_be_seen(single, adding_with_atomics):
    from fused_mlp.gpu.workspace import workspace_for

    case = single["operation"].case(rows=4, dim=33, hidden=70, dtype=torch.float32, activation="gelu")
    workspace = workspace_for(torch.device("cpu"), n_counters=1, n_sums=4 * 33)
    workspace.sums[5] = 1.0
    y = single["launch"](*case.arguments, activation="gelu", tiles=split_tile())
    assert (y.double() - case.expected).abs().flatten()[5] > 0.9
    assert not workspace.sums.any()


def shuffled_programs(monkeypatch, seed):
    """Lets the interpreter's programs run in another order; the grid itself stays."""
    from triton.runtime import interpreter

    builder = interpreter.interpreter_builder
    set_grid_idx, order = builder.set_grid_idx, {}

    def set_shuffled(*index):
        grid = tuple(builder.grid_dim)
        if not order:
            places = list(itertools.product(*(range(n) for n in grid)))
            order.update(zip(places, random.Random(seed).sample(places, len(places)), strict=True))
        set_grid_idx(*order[index])

    monkeypatch.setattr(builder, "set_grid_idx", set_shuffled)
    return order


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_programs_changes_no_bit_of_ordered_parts(single, monkeypatch, seed):
    case = single["operation"].case(rows=40, dim=33, hidden=200, dtype=torch.float32, activation="gelu")
    expected = single["launch"](*case.arguments, activation="gelu", tiles=split_tile())
    order = shuffled_programs(monkeypatch, seed)
    assert torch.equal(single["launch"](*case.arguments, activation="gelu", tiles=split_tile()), expected)
    assert any(before != after for before, after in order.items())


@pytest.mark.usefixtures("adding_with_atomics")
@pytest.mark.parametrize("seed", range(4))
def test_whichever_program_arrives_last_finishes(single, monkeypatch, seed):
    case = single["operation"].case(rows=40, dim=33, hidden=200, dtype=torch.float32, activation="gelu")
    shuffled_programs(monkeypatch, seed)
    assert_right(single["launch"](*case.arguments, activation="gelu", tiles=split_tile()), case, torch.float32)


def test_deterministic_algorithms_add_in_order_however_much_that_is(adding_with_atomics):
    from fused_mlp.gpu.partials import parts_and_counters

    x = torch.randn(16, 8)
    sizes = {"n_slices": 500, "n_row_blocks": 1, "block_rows": 16, "n_out": 1000}
    ordered, parts, _ = parts_and_counters(x, **sizes)
    assert (ordered, parts.numel()) == (False, 64 * 1024)
    torch.use_deterministic_algorithms(mode=True)
    try:
        ordered, parts, _ = parts_and_counters(x, **sizes)
    finally:
        torch.use_deterministic_algorithms(mode=False)
    assert (ordered, parts.numel()) == (True, 500 * 16 * 1000)


def test_a_shape_for_more_than_one_launch_is_refused_in_words(single):
    import fused_mlp

    x = torch.randn(65, 300)
    weights = [torch.randn(20, 300), torch.randn(20, 300), torch.randn(300, 20)]
    arguments = (x, *weights)
    if single["operation"].name == "mlp":
        arguments = (x, weights[0], None, weights[2], None)
    with pytest.raises(fused_mlp.Unavailable, match="at most 64 rows where dim or out is over 256"):
        single["launch"](*arguments, activation="relu")


def test_a_full_tile_named_for_a_wider_shape_is_refused_in_words(single):
    import fused_mlp

    case = single["operation"].case(rows=2, dim=257, hidden=4, dtype=torch.float32, activation="relu")
    with pytest.raises(fused_mlp.Unavailable, match="full tile named takes at most 256 columns; this is 257 to 257"):
        single["launch"](*case.arguments, activation="relu", tiles=full_tile())


@pytest.mark.parametrize(("dim", "n_rows"), [(64, 1), (256, 300), (256, 65536), (1024, 1), (4096, 64)])
@pytest.mark.parametrize("capability", [80, 90])
def test_tuning_tries_what_the_rule_chooses(single, dtype, dim, n_rows, capability):
    shape = {"n_rows": n_rows, "dim": dim, "hidden": 4 * dim, "n_out": dim, "dtype": dtype, "capability": capability}
    assert single["why_not"](**shape) is None
    assert single["tiles_for"](**shape) in single["candidates_for"](**shape)


def test_tiles_named_by_the_caller_are_the_ones_launched(single, monkeypatch):
    from fused_mlp.gpu import single as triton_single

    seen = []
    monkeypatch.setattr(triton_single, "launch", lambda *args, **kwargs: seen.append((args, kwargs)))
    case = single["operation"].case(rows=3, dim=16, hidden=64, dtype=torch.float32, activation="relu")
    tile = replace(split_tile(block_rows=32, block_hidden=16), n_warps=8)
    single["launch"](*case.arguments, activation="relu", tiles=tile)
    (((_, grid, *_), kwargs),) = seen
    assert grid == (4, 1)
    assert kwargs["n_warps"] == 8
