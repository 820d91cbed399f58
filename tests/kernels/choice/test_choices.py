"""What a call gets on CUDA, and which packing a module: by the table, a neighbour or the rule; and which is said."""

import time
from dataclasses import fields, replace
from functools import lru_cache

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import fused_mlp
from fused_mlp.choice import choices, on_cpu
from fused_mlp.choice.choices import CudaDevice, chosen_on
from fused_mlp.choice.implementations import why_not_for_shape
from fused_mlp.choice.on_cpu import packing_for
from fused_mlp.choice.rules import Ceilings, Sizes
from fused_mlp.errors import Unavailable
from fused_mlp.tuned import Entry, Found, Section, Way, cpu_name, entries
from fused_mlp.vocabulary import Implementation, NumberFormat, Operation, Weights

POINTWISE, EPILOGUE, SINGLE = Implementation.POINTWISE, Implementation.EPILOGUE, Implementation.SINGLE
RATES = dict.fromkeys(NumberFormat, 790e12)
DEVICE = CudaDevice(
    name="a Hopper",
    capability=90,
    ceilings=Ceilings(bytes_per_s=4.3e12, flop_per_s=RATES, launch_s=2.5e-6, multiprocessors=132),
)
FULL_TILE = {"block_rows": 128, "block_hidden": 64, "n_warps": 8, "n_stages": 2}


def sizes(rows, dim, hidden, operation=Operation.MLP, n_out=None):
    return Sizes(
        operation=operation,
        rows=rows,
        dim=dim,
        hidden=hidden,
        n_out=n_out or dim,
        number_format=NumberFormat.BFLOAT16,
    )


@pytest.fixture
def tuned(monkeypatch):
    """Makes these the ways known of a device, for mlp."""

    def known(*ways, device=DEVICE.name, weights=Weights.PLAIN, number_format=NumberFormat.BFLOAT16):
        section = Section(operation=Operation.MLP, number_format=number_format, weights=weights)
        entry = Entry(device=device, n_threads=None, torch="2", triton="3", ways={section: ways})
        for module in (choices, on_cpu):
            monkeypatch.setattr(module, "entries", lambda: {device: entry})

    return known


def way(rows, dim, hidden, implementation, **rest):
    return Way(rows=rows, dim=dim, hidden=hidden, implementation=implementation, **rest)


def test_an_unknown_device_gets_the_rule_s_choice_and_its_arithmetic():
    choice = chosen_on(DEVICE, sizes(65536, 64, 256))
    assert (choice.implementation, choice.found) == (SINGLE, Found.RULE)
    assert choice.why.startswith("by the arithmetic for a Hopper: single 8.")


def test_what_was_tuned_for_the_shape_goes_before_the_rule(tuned):
    tuned(way(65536, 64, 256, EPILOGUE, tiles={"n_warps": 4}))
    choice = chosen_on(DEVICE, sizes(65536, 64, 256))
    assert (choice.implementation, choice.found, choice.tiles) == (EPILOGUE, Found.TUNED, {"n_warps": 4})
    assert choice.why == "fastest at 65536 rows, dim 64, hidden 256 on a Hopper"


def test_a_neighbour_s_way_is_taken_and_named(tuned):
    tuned(way(4096, 1024, 4096, POINTWISE))
    choice = chosen_on(DEVICE, sizes(5000, 1000, 4000))
    assert (choice.implementation, choice.found) == (POINTWISE, Found.NEIGHBOUR)
    assert "4096 rows" in choice.why


def test_a_neighbour_s_way_that_has_no_kernel_for_this_shape_is_not_taken(tuned):
    tuned(way(128, 256, 1024, SINGLE, tiles=FULL_TILE))
    assert chosen_on(DEVICE, sizes(128, 256, 1024)).implementation is SINGLE
    assert chosen_on(DEVICE, sizes(128, 300, 1024)).implementation is not SINGLE


def test_a_neighbour_s_tiles_are_not_taken_where_dim_pads_to_another_power_of_two(tuned):
    tuned(way(65536, 128, 512, SINGLE, tiles=FULL_TILE))
    assert chosen_on(DEVICE, sizes(65536, 120, 512)).tiles == FULL_TILE
    wider = chosen_on(DEVICE, sizes(65536, 130, 512))
    assert (wider.implementation, wider.tiles) == (SINGLE, {})


def test_a_named_implementation_gets_its_own_best_tiles_and_never_another_implementation(tuned):
    slower = way(4096, 1024, 4096, EPILOGUE, tiles={"n_warps": 8}, is_fastest=False)
    tuned(way(4096, 1024, 4096, POINTWISE), slower)
    assert chosen_on(DEVICE, sizes(4096, 1024, 4096)).implementation is POINTWISE
    named = chosen_on(DEVICE, sizes(4096, 1024, 4096), named=EPILOGUE)
    assert (named.implementation, named.tiles) == (EPILOGUE, {"n_warps": 8})
    assert chosen_on(DEVICE, sizes(2, 1024, 4096), named=EPILOGUE).tiles == {}


def test_a_named_implementation_without_a_kernel_for_the_shape_is_unavailable_with_the_reason():
    with pytest.raises(Unavailable, match=r"fused_mlp\.mlp by single: one launch takes at most 64 rows"):
        chosen_on(DEVICE, sizes(65, 1024, 4096), named=SINGLE)


def test_float32_without_tf32_is_left_to_pytorch_whose_products_are_faster():
    choice = chosen_on(DEVICE, replace(sizes(1, 64, 256), number_format=NumberFormat.FLOAT32))
    assert (choice.implementation, choice.why) == (Implementation.PURE, "cuBLAS is fastest in float32 without tf32")
    assert chosen_on(DEVICE, replace(sizes(1, 64, 256), number_format=NumberFormat.TF32)).implementation is SINGLE


@pytest.mark.parametrize(("implementation", "is_refused"), [("epilogue", True), ("single", True), ("pointwise", False)])
def test_a_triton_product_has_no_kernel_for_float32_without_tf32(implementation, is_refused):
    shape = {"rows": 1, "dim": 64, "hidden": 256, "n_out": 64, "dtype": torch.float32, "capability": 90}
    assert torch.get_float32_matmul_precision() == "highest"
    reason = why_not_for_shape("mlp", implementation=implementation, **shape)
    assert ("set_float32_matmul_precision('high')" in (reason or "")) is is_refused
    torch.set_float32_matmul_precision("high")
    assert why_not_for_shape("mlp", implementation=implementation, **shape) is None


def test_what_the_device_cannot_run_is_not_chosen():
    without = chosen_on(DEVICE, sizes(1, 64, 256), why_not=lambda each: "no" if each is SINGLE else None)
    assert without.implementation is EPILOGUE
    with pytest.raises(Unavailable, match="too old"):
        chosen_on(DEVICE, sizes(1, 64, 256), why_not=lambda _: "too old")


def test_linear_has_no_level_3_and_the_cuda_op_computes_mlp_only():
    shape = {"rows": 1, "dim": 2, "hidden": 3, "n_out": 3, "dtype": torch.bfloat16, "capability": 90}
    assert "level 2 already" in why_not_for_shape("linear", implementation="single", **shape)
    assert "computes mlp, not gated_mlp" in why_not_for_shape("gated_mlp", implementation="cuda", **shape)
    assert why_not_for_shape("mlp", implementation="single", **shape) is None


CUBLASLT = Implementation.CUBLASLT


def test_the_epilogue_of_cublaslt_is_had_for_its_two_activations_and_no_gate():
    shape = {"rows": 8, "dim": 64, "hidden": 256, "n_out": 64, "dtype": torch.bfloat16, "capability": 90}

    def why_not(operation, activation):
        return why_not_for_shape(operation, implementation="cublaslt", activation=activation, **shape)

    assert [why_not("mlp", each) for each in ("relu", "gelu_tanh", None)] == [None] * 3
    assert why_not("mlp", "gelu") == "cuBLASLt's epilogues are relu and gelu_tanh, not gelu"
    assert why_not("linear", "none") is not None
    assert why_not("gated_mlp", "relu") == "cuBLASLt's epilogues have no gate"


def test_where_it_was_fastest_other_activations_take_the_fastest_that_has_them(tuned):
    tuned(way(4096, 1024, 4096, CUBLASLT), way(4096, 1024, 4096, EPILOGUE, tiles={"n_warps": 4}))
    asked = {each: chosen_on(DEVICE, sizes(4096, 1024, 4096), activation=each) for each in ("relu", "gelu", None)}
    assert {each: choice.implementation for each, choice in asked.items()} == {
        "relu": CUBLASLT,
        "gelu": EPILOGUE,
        None: EPILOGUE,
    }
    assert {choice.found for choice in asked.values()} == {Found.TUNED}


def test_the_rule_picks_it_only_for_its_activations_and_another_is_refused_by_name():
    for rows in (64, 512, 8192):
        taken = {each: chosen_on(DEVICE, sizes(rows, 1024, 4096), activation=each) for each in ("relu", "gelu", None)}
        assert [each for each, choice in taken.items() if choice.implementation is CUBLASLT] == ["relu"]
        assert taken["relu"].found is Found.RULE
    assert chosen_on(DEVICE, sizes(512, 1024, 4096), named=CUBLASLT, activation="relu").implementation is CUBLASLT
    with pytest.raises(Unavailable, match="relu and gelu_tanh, not silu"):
        chosen_on(DEVICE, sizes(512, 1024, 4096), named=CUBLASLT, activation="silu")


def test_a_shape_met_before_costs_a_look_up_only(monkeypatch):
    cuda_levels = pytest.importorskip("fused_mlp.choice.cuda_levels", reason="triton is not installed")
    asked = []
    monkeypatch.setattr(choices, "cuda_device", lambda index: asked.append(index) or DEVICE)
    monkeypatch.setattr(choices, "why_unavailable", lambda *_, **__: None)
    key = (Operation.MLP, None, 77, 64, 256, 64, NumberFormat.BFLOAT16, 0, "gelu")
    cuda_levels.level_and_tiles.cache_clear()
    first = cuda_levels.level_and_tiles(*key)
    least = min(_seconds_of(lambda: cuda_levels.level_and_tiles(*key)) for _ in range(2000))
    cuda_levels.level_and_tiles.cache_clear()
    assert first == (SINGLE, None)
    assert asked == [0]
    look_up = lru_cache(lambda *_: None)
    # A look-up in the table takes hundreds.
    assert least < 20 * min(_seconds_of(lambda: look_up(*key)) for _ in range(2000))


def _seconds_of(call):
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_choice_for_cuda_without_a_gpu_says_there_is_none():
    with pytest.raises(Unavailable, match="torch sees none"):
        fused_mlp.choice_for("mlp", rows=1, dim=8, hidden=8, device="cuda")


def packing(rows):
    found = packing_for(Operation.MLP, rows=rows, dim=256, hidden=1024, dtype=torch.float32)
    return found[:2]


def test_weights_are_packed_for_what_is_fastest_at_the_rows_named(tuned):
    ways = way(8, 256, 1024, Implementation.CPP), way(512, 256, 1024, Implementation.ONEDNN)
    tuned(*ways, device=cpu_name(), weights=Weights.PACKED, number_format=NumberFormat.FLOAT32)
    assert packing(8) == (Implementation.CPP, Found.TUNED)
    assert packing(1000) == (Implementation.ONEDNN, Found.NEIGHBOUR)
    assert packing(100_000) == (Implementation.CPP, Found.RULE)


def test_a_module_is_packed_by_what_the_table_says_for_its_rows(tuned):
    there = {"device": cpu_name(), "weights": Weights.PACKED, "number_format": NumberFormat.FLOAT32}
    tuned(way(8, 16, 32, Implementation.CPP), way(512, 16, 32, Implementation.ONEDNN), **there)
    module = fused_mlp.FusedMLP(16, 32)
    assert module.prepare(rows=512).implementation is Implementation.ONEDNN
    assert module.prepare(rows=512, implementation="cpp").implementation is Implementation.CPP
    assert module.prepare().implementation is Implementation.CPP


def test_weights_for_any_number_of_rows_go_to_onednn_only_where_it_is_always_fastest(tuned):
    ways = way(8, 256, 1024, Implementation.ONEDNN), way(512, 256, 1024, Implementation.ONEDNN)
    there = {"device": cpu_name(), "weights": Weights.PACKED, "number_format": NumberFormat.FLOAT32}
    tuned(*ways, **there)
    assert packing(None) == (Implementation.ONEDNN, Found.NEIGHBOUR)
    tuned(*ways, way(64, 256, 1024, Implementation.CPP), **there)
    assert packing(None) == (Implementation.CPP, Found.RULE)
    tuned(way(8, 64, 64, Implementation.ONEDNN), **there)
    assert packing(None) == (Implementation.CPP, Found.RULE)


@pytest.mark.parametrize("implementation", [None, "pointwise", Implementation.EPILOGUE, "single", "cuda"])
def test_a_level_named_on_cuda_is_traced_as_the_op_without_a_gpu(implementation):
    with FakeTensorMode():
        x, w1, w2 = (torch.empty(*shape, device="cuda") for shape in ((4, 64), (256, 64), (64, 256)))
        out = fused_mlp.mlp(x, w1, None, w2, None, activation="gelu", implementation=implementation)
        assert (out.shape, out.device.type) == ((4, 64), "cuda")


def test_a_level_that_an_operation_does_not_have_is_refused_by_name():
    with FakeTensorMode():
        x, w, down = (torch.empty(*shape, device="cuda") for shape in ((4, 64), (256, 64), (64, 256)))
        with pytest.raises(fused_mlp.InvalidArgument, match="the CUDA C\\+\\+ op computes mlp, not gated_mlp"):
            fused_mlp.gated_mlp(x, w, w, down, activation="gelu", implementation="cuda")


@pytest.mark.usefixtures("cpu_kernels")
@pytest.mark.parametrize("implementation", ["cpp", Implementation.CPP])
def test_a_named_implementation_compiles_to_one_graph(operation, implementation):
    torch._dynamo.reset()
    arguments = operation.case(rows=6, dim=12, hidden=20, dtype=torch.float32, activation="gelu").arguments
    options = {"activation": "gelu", "implementation": implementation}
    compiled = torch.compile(lambda *a: operation.function(*a, **options), fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(*arguments), operation.function(*arguments, **options))


@pytest.mark.usefixtures("cpu_kernels")
def test_the_op_itself_refuses_a_level_of_cuda_on_the_cpu(operation):
    arguments = operation.case(rows=6, dim=12, hidden=20, dtype=torch.float32, activation="gelu").arguments
    op = getattr(torch.ops.fused_mlp, operation.name)
    with pytest.raises(ValueError, match="implementation is 'single'; expected cpp on the CPU"):
        op(*arguments, "gelu", implementation="single")


def test_tiles_survive_the_table_whatever_kernel_they_are_of():
    cuda_levels = pytest.importorskip("fused_mlp.choice.cuda_levels", reason="triton is not installed")
    for kind in cuda_levels.TILE_KINDS:
        tiles = kind(**{each.name: 16 for each in fields(kind)})
        assert cuda_levels.tiles_from_values(cuda_levels.values_from_tiles(tiles)) == tiles
    assert cuda_levels.tiles_from_values({}) is None


def test_tiles_of_no_kernel_are_refused_with_what_to_do():
    cuda_levels = pytest.importorskip("fused_mlp.choice.cuda_levels", reason="triton is not installed")
    with pytest.raises(ValueError, match="no kernel has tiles of block_rows, depth; tune this device again"):
        cuda_levels.tiles_from_values({"block_rows": 16, "depth": 2})


def test_every_committed_way_has_tiles_that_a_kernel_knows():
    cuda_levels = pytest.importorskip("fused_mlp.choice.cuda_levels", reason="triton is not installed")
    for entry in entries().values():
        for ways in entry.ways.values():
            assert all(cuda_levels.tiles_from_values(one.tiles) is not None for one in ways if one.tiles)
