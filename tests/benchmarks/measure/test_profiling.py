"""What a profile counts, on the operators whose numbers are known by hand."""

import time
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from benchmarks.ruler.measure.generated_kernels import generated_kernels_announced
from benchmarks.ruler.measure.profiling import BETWEEN_OPERATORS, _is_compute, _overloads, profile_call
from benchmarks.ruler.measure.traced_call import ACTIVE_CALLS
from benchmarks.ruler.plan.points import Contender, Operation, Pass
from benchmarks.ruler.providers import registry as providers
from benchmarks.ruler.providers.workload import one_call, workload
from benchmarks.ruler.traces.event_names import stable_name
from benchmarks.ruler.traces.events import read_trace
from benchmarks.ruler.traces.inputs import inputs_from_args
from benchmarks.ruler.traces.least_bytes import NO_RULE

CPU = torch.device("cpu")


def profiled(shape, provider="eager"):
    load = workload(shape, device=CPU)
    with torch.inference_mode():
        call = one_call(load, providers.build(Contender(provider=provider), load).function)
        return profile_call(call, device=CPU)


@pytest.mark.parametrize(
    ("operation", "activation", "n_operators"),
    [
        (Operation.LINEAR, None, 1),
        (Operation.LINEAR, "relu", 2),
        (Operation.MLP, "gelu", 3),
        (Operation.GATED_MLP, "gelu_tanh", 5),
    ],
)
def test_eager_runs_one_operator_per_product_and_pointwise_step(shape, operation, activation, n_operators):
    summary = profiled(replace(shape, operation=operation, activation=activation))
    assert summary.operator_count == n_operators


def test_views_and_wrappers_are_listed_but_not_counted_as_compute(shape):
    rows = {row.name: row for row in profiled(shape).operators}
    assert rows["aten::addmm"].is_compute
    assert rows["aten::addmm"].count == 2
    assert not rows["aten::linear"].is_compute
    assert not rows["aten::t"].is_compute


def test_nodes_of_the_backward_graph_are_no_operators_but_what_they_call_is(shape):
    load = workload(replace(shape, activation="silu", pass_=Pass.FORWARD_BACKWARD), device=CPU)
    call = one_call(load, load.module)
    summary = profile_call(call, device=CPU)
    counted = {row.name: row.count for row in summary.operators if row.is_compute}
    assert not [name for name in counted if name.startswith("autograd::")]
    assert counted["aten::silu_backward"] == 1
    # Forward: two products and the activation. Backward: two products for each, its derivative, two sums for biases.
    assert summary.operator_count == 3 + 4 + 1 + 2


def test_an_overload_for_named_tensors_makes_no_wrapper_of_a_sum(monkeypatch):
    named = torch._C.parse_schema("aten::sum.dim_DimnameList(Tensor self, str[1] dim, bool keepdim=False) -> Tensor")
    plain = torch._C.parse_schema("aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False) -> Tensor")
    monkeypatch.setattr(torch._C, "_jit_get_schemas_for_operator", lambda _: [plain, named])
    assert _overloads("aten::sum") == ["aten::sum.dim_IntList"]


def test_an_operator_from_outside_computes_itself_where_kernels_are_its_own_or_none_that_it_calls_does():
    def event(name, *children, kernels=()):
        return SimpleNamespace(name=name, cpu_children=children, kernels=kernels)

    product = event("aten::mm", kernels=["nvjet"])
    assert not _is_compute(event("fused_mlp::mlp", product))
    assert _is_compute(event("fused_mlp::mlp", product, kernels=["gate_product_kernel"]))
    assert _is_compute(event("fused_mlp::mlp", event("aten::view")))


def test_a_slice_is_a_view():
    x = torch.randn(4, 8)
    summary = profile_call(lambda: torch.relu(x[:, :4]), device=CPU)
    assert summary.operator_count == 1


def test_what_only_rewrites_strides_is_no_step_whatever_its_schema_says():
    x, weight = torch.randn(2, 8, 32), torch.randn(64, 32)
    summary = profile_call(lambda: torch.nn.functional.linear(x, weight).unsafe_chunk(2), device=CPU)
    assert {row.name for row in summary.operators if row.is_compute} == {"aten::mm"}
    assert summary.operator_count == 1
    assert summary.operators_min_bytes == 4 * (16 * 32 + 64 * 32 + 16 * 64)
    summary = profile_call(lambda: x.detach().unsqueeze_(0).transpose_(0, 1).relu_(), device=CPU)
    assert summary.operator_count == 1


def test_the_peak_is_what_is_held_above_inputs_and_weights(shape):
    # Eager holds h and act(h) at once, or act(h) and y, whichever is more.
    assert profiled(shape).peak_memory_bytes == 2 * 4 * shape.batch * shape.hidden


def test_each_operator_has_its_inputs_its_memory_and_the_least_it_must_move(shape):
    summary = profiled(replace(shape, activation="gelu"))
    rows = {row.name: row for row in summary.operators}
    batch, hidden, dim = shape.batch, shape.hidden, shape.dim
    assert rows["aten::addmm"].inputs == (
        f"float32[{hidden}] float32[{batch},{dim}] float32[{dim},{hidden}]",
        f"float32[{dim}] float32[{batch},{hidden}] float32[{hidden},{dim}]",
    )
    products = hidden + dim + 2 * dim * hidden + 2 * batch * (dim + hidden)
    assert rows["aten::addmm"].min_bytes == 4 * products
    assert rows["aten::gelu"].min_bytes == 4 * 2 * batch * hidden
    # What addmm copies of its bias first is inside it, and is not counted again.
    assert summary.operators_min_bytes == 4 * (products + 2 * batch * hidden)
    assert summary.allocated_bytes == summary.freed_bytes == 4 * batch * (2 * hidden + dim)
    assert rows["aten::gelu"].allocated_bytes == 4 * batch * hidden
    assert set(summary.missing) == {
        *("device_busy_s", "gap_count", "gap_time_s", "longest_gap_s"),
        "runtime_calls",
    }


def test_an_operator_that_calls_an_overload_of_its_own_moves_once():
    x = torch.randn(16, 32)
    summary = profile_call(x.sum, device=CPU)
    (row,) = (row for row in summary.operators if row.name == "aten::sum")
    assert (row.count, row.min_bytes) == (1, 4 * (16 * 32 + 1))
    assert summary.operators_min_bytes == row.min_bytes


def test_an_operator_that_no_rule_knows_makes_the_sum_unknown_and_says_so():
    x = torch.randn(8)
    summary = profile_call(lambda: torch.relu(torch.cumsum(x, 0)), device=CPU)
    (unknown,) = [row for row in summary.operators if row.name == "aten::cumsum"]
    assert (unknown.min_bytes, unknown.min_bytes_reason) == (None, NO_RULE)
    assert summary.operators_min_bytes is None
    assert summary.missing["operators_min_bytes"] == f"aten::cumsum: {NO_RULE}"


def test_the_trace_that_is_kept_is_the_one_with_shapes(tmp_path):
    x = torch.randn(8)
    kept = tmp_path / "traces" / "one.json.gz"
    summary = profile_call(lambda: torch.relu(x), device=CPU, trace=kept)
    assert summary.trace == kept.name
    trace = read_trace(kept)
    assert len(trace.steps) == ACTIVE_CALLS
    (shapes,) = {str(inputs_from_args(span.args)) for span in trace.host if span.name == "aten::relu"}
    assert shapes == "float32[8]"


def test_on_a_cpu_nothing_is_said_of_kernels(shape):
    summary = profiled(shape)
    assert summary.kernel_launches is None
    assert summary.device_time_s is None
    assert summary.kernels == ()
    assert 0 < summary.operator_time_s < 1


def test_an_operator_that_only_calls_others_is_where_the_overhead_is():
    library = torch.library.Library("fusebench_test", "DEF")
    library.define("outer(Tensor x) -> Tensor")

    def outer(x):
        time.sleep(0.01)
        torch.empty(1)
        return x.clone()

    library.impl("outer", outer, "CPU")
    x = torch.randn(4)
    summary = profile_call(lambda: torch.ops.fusebench_test.outer(x), device=CPU)
    library._destroy()
    assert summary.operator_count == 1
    # An operator from outside ATen that only calls others does not compute itself: its clone is the operator.
    assert summary.operator_time_s < 0.01
    assert summary.overhead_in == "fusebench_test::outer"


def test_one_call_that_is_held_up_does_not_make_the_time_of_operators():
    x, seen = torch.randn(8), []

    def call():
        seen.append(1)
        # The fourth call, the second that counts, is 50 times as long as the others.
        return torch.mm(*([torch.randn(512, 512)] * 2)) if len(seen) == 4 else torch.relu(x)

    summary = profile_call(call, device=CPU)
    longest = max(row.total_time_s for row in summary.operators if row.is_compute)
    assert summary.operator_time_s < longest


def test_python_between_operators_is_where_the_overhead_is():
    x = torch.randn(8)

    def call():
        torch.relu(x)
        time.sleep(0.01)
        return torch.relu(x)

    summary = profile_call(call, device=CPU)
    assert summary.overhead_in == BETWEEN_OPERATORS
    assert 0.01 <= summary.profiled_call_s < 10
    assert summary.operator_time_s < 0.01


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inductor scripts a method of its own
@pytest.mark.parametrize("pass_", list(Pass))
def test_generated_kernels_are_seen_without_compiling_anything_but_what_was_timed(shape, pass_):
    from torch._inductor import config
    from torch._inductor.codecache import PyCodeCache

    load = workload(replace(shape, pass_=pass_), device=CPU)

    def compiled_call():
        torch._dynamo.reset()
        call = one_call(load, providers.build(Contender(provider="compiled"), load).function)
        call()
        return call

    with torch.inference_mode() if pass_ is Pass.FORWARD else nullcontext():
        call = compiled_call()
        unseen = profile_call(call, device=CPU)
        n_modules = len(PyCodeCache.modules)
        with generated_kernels_announced():
            seen = profile_call(call, device=CPU)
        assert len(PyCodeCache.modules) == n_modules
        assert profile_call(call, device=CPU).operator_count == unseen.operator_count
        with config.patch({"cpp.enable_kernel_profile": True}):
            announced = profile_call(compiled_call(), device=CPU)
    names = [sorted(row.name for row in one.operators if "cpp_fused" in row.name) for one in (unseen, seen, announced)]
    assert names[0] == []
    assert names[1] == names[2] != []
    assert seen.operator_count == announced.operator_count > unseen.operator_count


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inductor scripts a method of its own
def test_compiling_a_geglu_leaves_four_operators_of_five(shape):
    from torch._inductor import config

    geglu = replace(shape, operation=Operation.GATED_MLP, activation="gelu_tanh")
    load = workload(geglu, device=CPU)
    # Not by monkeypatch, which would delete the option when it undoes its change.
    with config.patch({"cpp.enable_kernel_profile": True}), torch.inference_mode():
        compiled = providers.build(Contender(provider="compiled"), load).function
        call = one_call(load, compiled)
        call()
        summary = profile_call(call, device=CPU)
    assert summary.operator_count == 4
    assert sum("cpp_fused" in row.name for row in summary.operators) == 1


@pytest.mark.parametrize(
    ("seen", "kept"),
    [
        ("graph_12_cpp_fused_gelu_mul_0", "cpp_fused_gelu_mul_0"),
        ("Torch-Compiled Region: 2/0", "Torch-Compiled Region"),
        ("## Call CompiledFxGraph fzipdsvuazmkns4as6dvcsm2grldnzmv ##", "## Call CompiledFxGraph ##"),
        ("aten::addmm", "aten::addmm"),
    ],
)
def test_what_torch_numbers_anew_in_each_process_is_dropped_from_names(seen, kept):
    assert stable_name(seen) == kept
