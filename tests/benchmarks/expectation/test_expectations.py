"""What providers declare to run, and how a profile that differs is told."""

from dataclasses import replace

import pytest
import torch

from benchmarks.ruler.expectation import comparison
from benchmarks.ruler.expectation.declarations import _PACKED, _PLAIN, NOT_DECLARED, Expectation, expectation
from benchmarks.ruler.measure.profiling import profile_call
from benchmarks.ruler.plan.points import Contender, DeviceKind, Operation, Pass, Weights, contender_from_name
from benchmarks.ruler.providers import registry as providers
from benchmarks.ruler.providers.workload import one_call, workload
from benchmarks.ruler.record.outcome import KernelRow, OperatorRow, ProfileOutcome, State

CPU = torch.device("cpu")
CASES = [
    (Operation.LINEAR, None),
    (Operation.LINEAR, "silu"),
    (Operation.MLP, "gelu"),
    (Operation.MLP, "silu"),
    (Operation.GATED_MLP, "gelu_tanh"),
    (Operation.GATED_MLP, "relu"),
]


def on_gpu(shape, name, detail=None):
    return expectation(contender_from_name(name), shape, device=DeviceKind.CUDA, provider_detail=detail)


def is_undeclared(expected):
    """Whether nothing is declared of counts, and a reason is given."""
    return (expected.operators, expected.launches, expected.structure) == (None, None, None) and bool(expected.reason)


def compared(seen, expected, *, shape=None, device=DeviceKind.CUDA, ceilings=None):
    return comparison.compared(seen, expected, shape=shape, device=device, ceilings=ceilings)


def profile(*kernels, operators=()):
    return ProfileOutcome(
        state=State.OK,
        operator_count=float(sum(count for _, count in operators)),
        kernel_launches=float(sum(count for _, count in kernels)),
        kernels=tuple(KernelRow(name=name, count=count, device_time_s=1e-6) for name, count in kernels),
        operators=tuple(
            OperatorRow(name=name, count=count, self_time_s=1e-6, total_time_s=1e-6, is_compute=True, outermost=count)
            for name, count in operators
        ),
    )


def test_every_provider_declares_what_it_runs_or_is_listed_as_one_that_does_not():
    assert set(_PLAIN) | NOT_DECLARED == set(providers.PROVIDERS)
    assert set(_PLAIN) & NOT_DECLARED == set()
    assert set(_PACKED) == set(providers.PACKED_PROVIDERS)


@pytest.mark.parametrize(
    ("name", "linear", "mlp", "gated_mlp"),
    [
        ("eager", 2, 3, 5),
        ("fused-pointwise", 2, 3, 4),
        ("fused-epilogue", 1, 2, 2),
        ("fused-cublaslt", 1, 2, None),
        ("fused-single", None, 1, 1),
        ("fused-cuda", None, 1, None),
        ("compiled", 2, 3, 4),
        ("compiled-dynamic", 2, 3, 4),
        ("compiled-max-autotune", None, None, None),
    ],
)
def test_kernels_of_a_forward_are_those_of_the_ladder_of_fusion(shape, name, linear, mlp, gated_mlp):
    launches = [on_gpu(replace(shape, operation=operation), name).launches for operation in Operation]
    assert launches == [linear, mlp, gated_mlp]


def test_a_bare_linear_at_level_one_still_adds_its_bias_in_a_kernel_of_its_own(shape):
    bare = replace(shape, operation=Operation.LINEAR, activation=None)
    levels = ("eager", "compiled", "fused-pointwise", "fused-epilogue")
    assert [on_gpu(bare, name).launches for name in levels] == [1, 1, 2, 1]


@pytest.mark.parametrize(
    ("detail", "launches"), [("single, plain weights", 1), ("epilogue, plain weights", 2), ("pure, plain weights", 3)]
)
@pytest.mark.parametrize("name", ["fused", "fused-hoisted", "fused-captured"])
def test_fused_on_a_gpu_is_held_to_the_level_it_says_it_chose(shape, name, detail, launches):
    assert on_gpu(shape, name, detail).launches == launches
    assert is_undeclared(on_gpu(shape, name))


@pytest.mark.parametrize(
    ("name", "operation", "launches"),
    [
        # Forward as eager, for z is kept; dz and the bias's sum in float32, converted; three products; the other sum.
        ("fused", "mlp", 3 + 3 + 3 + 1),
        # One launch forward; the same with z computed again.
        ("fused-single", "mlp", 1 + 1 + 3 + 3 + 1),
        ("fused-epilogue", "linear", 1 + 1 + 3 + 2),
        ("fused", "gated_mlp", 5 + 1 + 5),
        ("fused-epilogue", "gated_mlp", 2 + 2 + 1 + 5),
        ("eager", "gated_mlp", 15),
        ("liger", "gated_mlp", 12),
    ],
)
def test_kernels_of_a_forward_and_backward_are_those_of_the_fused_backward(shape, name, operation, launches):
    wide = {"dim": 768, "hidden": 3072, "batch": 256}
    at = replace(shape, operation=Operation(operation), pass_=Pass.FORWARD_BACKWARD, dtype="bfloat16", **wide)
    assert on_gpu(at, name, "epilogue, plain weights").launches == launches


def test_what_depends_on_width_and_dtype_in_the_backward_is_declared_so(shape):
    at = replace(shape, pass_=Pass.FORWARD_BACKWARD, dtype="bfloat16", dim=768, batch=256)
    in_half = on_gpu(at, "fused").launches
    # One conversion less, but the product is cuBLAS's: Triton's would round to tf32.
    assert on_gpu(replace(at, dtype="float32"), "fused").launches == in_half - 1 + 1
    assert on_gpu(replace(at, dim=1025), "fused").launches == in_half + 1


def test_gate_and_up_packed_on_a_gpu_are_one_product(shape):
    packed = Contender(provider="fused", weights=Weights.PACKED)
    at = replace(shape, operation=Operation.GATED_MLP)
    declared = expectation(packed, at, device=DeviceKind.CUDA, provider_detail="pointwise, packed weights, rule")
    assert (declared.operators, declared.launches, declared.library_products) == (1, 3, 2)


def test_on_a_cpu_nothing_is_declared_of_kernels(shape):
    declared = expectation(Contender(provider="eager"), shape, device=DeviceKind.CPU)
    assert (declared.operators, declared.launches) == (3, None)


def points_of_a_cpu():
    """Every plain provider forward and backward; packed weights, which have no gradient, forward."""
    for operation, activation in CASES:
        for name in ("eager", "fused", "fused-hoisted", "fused-pure"):
            yield from ((name, operation, activation, pass_) for pass_ in Pass)
        for name in ("fused:packed", "fused-onednn:packed"):
            yield name, operation, activation, Pass.FORWARD
        if operation is Operation.GATED_MLP:
            yield "packed-eager:packed", operation, activation, Pass.FORWARD


@pytest.mark.parametrize(("name", "operation", "activation", "pass_"), list(points_of_a_cpu()))
def test_what_is_declared_is_what_a_cpu_runs(shape, name, operation, activation, pass_):
    at = replace(shape, operation=operation, activation=activation, pass_=pass_)
    contender = contender_from_name(name)
    expected = expectation(contender, at, device=DeviceKind.CPU)
    load = workload(at, device=CPU)
    with torch.inference_mode(mode=pass_ is Pass.FORWARD):
        call = one_call(load, providers.build(contender, load).function)
        call()
        measured = profile_call(call, device=CPU)
    assert compared(measured, expected).unexpected is None
    assert expected.operators is not None


def test_an_activation_without_an_operator_of_pytorchs_is_declared_only_where_one_of_ours_computes_it(shape):
    at = replace(shape, operation=Operation.MLP, activation="quick_gelu")
    for name in ("eager", "fused-pure", "fused-onednn:packed"):
        assert is_undeclared(expectation(contender_from_name(name), at, device=DeviceKind.CPU))
    assert expectation(Contender(provider="fused"), at, device=DeviceKind.CPU).operators == 1
    assert on_gpu(at, "fused-epilogue").launches == 2
    trained = replace(at, pass_=Pass.FORWARD_BACKWARD)
    assert is_undeclared(expectation(Contender(provider="fused"), trained, device=DeviceKind.CPU))
    assert is_undeclared(on_gpu(trained, "fused", "pure, plain weights"))


def test_a_kernel_more_than_expected_is_told_by_its_short_name(shape):
    expected = on_gpu(shape, "fused-epilogue")
    gelu = "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(int)>(int)"
    seen = profile(("linear_epilogue_kernel", 1), (gelu, 1), ("ampere_sgemm", 1), operators=[("fused_mlp::mlp", 1)])
    told = compared(seen, expected)
    assert told.unexpected == "expected 2 launches, saw 3: extra vectorized_elementwise_kernel"
    assert (told.expected_operator_count, told.expected_kernel_launches) == (1, 2)


@pytest.mark.parametrize(
    ("kernel", "short"),
    [
        ("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, float>(int)", "gemvx::kernel"),
        (
            "void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_tn_align1>(T::Params)",
            "cutlass_80_simt_sgemm_64x64_8x5_tn_align1",
        ),
        ("void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<int>>(int)", "GemmUniversal"),
        ("void (anonymous namespace)::softmax_warp_forward<float, 10>(float*)", "softmax_warp_forward"),
    ],
)
def test_the_short_name_of_a_kernel_is_not_its_type_nor_what_wraps_it(shape, kernel, short):
    seen = profile(("linear_epilogue_kernel", 1), ("ampere_sgemm", 1), (kernel, 1), operators=[("fused_mlp::mlp", 1)])
    assert compared(seen, on_gpu(shape, "fused-epilogue")).unexpected == f"expected 2 launches, saw 3: extra {short}"


def test_a_kernel_less_than_expected_is_told_too(shape):
    seen = profile(("gemm", 2), operators=[("aten::addmm", 2), ("aten::gelu", 1)])
    assert compared(seen, on_gpu(shape, "eager")).unexpected == "expected 3 launches, saw 2: missing gelu"


@pytest.mark.parametrize(
    ("operators", "told"),
    [
        ([("aten::addmm", 2), ("aten::gelu", 1), ("aten::copy_", 1)], "expected 3 operators, saw 4: extra aten::copy_"),
        ([("aten::addmm", 2), ("aten::gelu", 2)], "expected 3 operators, saw 4: extra aten::gelu"),
        ([("aten::addmm", 2), ("aten::gelu", 3)], "expected 3 operators, saw 5: extra 2 × aten::gelu"),
        ([("aten::addmm", 2)], "expected 3 operators, saw 2: missing gelu"),
        ([("aten::addmm", 2), ("aten::tanh", 1)], "expected 3 operators, saw 3: extra aten::tanh, missing gelu"),
        ([("aten::mm", 1), ("aten::linear", 1), ("aten::gelu", 1)], None),
    ],
)
def test_operators_other_than_expected_are_named(shape, operators, told):
    expected = replace(on_gpu(shape, "eager"), launches=None)
    assert compared(profile(operators=operators), expected).unexpected == told


def test_what_is_called_inside_an_operator_is_not_taken_for_one_more(shape):
    inside = OperatorRow(
        name="aten::copy_", count=1.0, self_time_s=1e-6, total_time_s=1e-6, is_compute=True, outermost=0.0
    )
    seen = profile(operators=[("aten::addmm", 2), ("aten::gelu", 1)])
    seen = replace(seen, operators=(*seen.operators, inside))
    assert compared(seen, expectation(Contender(provider="eager"), shape, device=DeviceKind.CPU)).unexpected is None


def test_operators_of_which_only_the_number_is_expected_are_all_named(shape):
    seen = profile(operators=[("aten::addmm", 2), ("aten::gelu", 1)])
    told = compared(seen, Expectation(operators=1)).unexpected
    assert told == "expected 1 operator, saw 3: 2 × aten::addmm, aten::gelu"


def test_a_count_that_was_not_taken_is_not_told(shape):
    seen = replace(profile(operators=[("aten::addmm", 2)]), operator_count=None, kernel_launches=None)
    assert compared(seen, on_gpu(shape, "eager")).unexpected is None


@pytest.mark.parametrize("name", ["eager", "compiled"])
def test_a_compilation_at_every_call_is_told_of_any_provider(shape, name):
    seen = replace(profile(("gemm", 2), ("gelu", 1), operators=[("aten::addmm", 2), ("aten::gelu", 1)]), compilations=1)
    told = compared(seen, on_gpu(shape, name)).unexpected
    assert told == "expected no compilation once it is warm, saw 1 a call: it is compiled again and again"


def test_what_is_as_declared_has_no_words(shape):
    seen = profile(("gemm", 2), ("gelu", 1), operators=[("aten::addmm", 2), ("aten::gelu", 1)])
    assert compared(seen, on_gpu(shape, "eager")).unexpected is None


def test_cublas_may_end_a_product_with_a_reduction_but_our_own_kernel_may_not(shape):
    reduced = ("void cublasLt::splitKreduce_kernel<32, 16, int>", 1)
    ours = [("fused_mlp::mlp", 1)]
    epilogue = on_gpu(shape, "fused-epilogue")
    assert compared(profile(("first", 1), ("gemm", 1), reduced, operators=ours), epilogue).unexpected is None
    more = compared(profile(("first", 1), ("gemm", 1), reduced, ("x", 1), operators=ours), epilogue)
    assert more.unexpected.startswith("expected 2 launches, saw 3: ")
    single = on_gpu(shape, "fused-single")
    assert compared(profile(("whole", 1), reduced, operators=ours), single).unexpected is not None


def test_nothing_is_unexpected_of_what_declares_nothing(shape):
    assert compared(profile(("anything", 7)), on_gpu(shape, "compiled-max-autotune")).unexpected is None


@pytest.mark.parametrize("activation", ["gelu", "quick_gelu"])
def test_what_compiled_runs_beyond_products_and_one_generated_operator_is_told(shape, activation):
    expected = expectation(
        contender_from_name("compiled"), replace(shape, activation=activation), device=DeviceKind.CPU
    )
    merged = profile(operators=[("aten::addmm", 2), ("graph_0_cpp_fused_gelu_0", 1)])
    assert compared(merged, expected, shape=shape).unexpected is None
    apart = profile(operators=[("aten::addmm", 2), ("aten::gelu", 1)])
    told = compared(apart, expected, shape=shape).unexpected
    assert told == "expected 3 operators, saw 3: extra aten::gelu, missing one that inductor generated"


def test_the_backward_of_compiled_is_not_declared(shape):
    assert is_undeclared(on_gpu(replace(shape, pass_=Pass.FORWARD_BACKWARD), "compiled"))


def test_a_product_of_aten_in_a_profile_of_frozen_weights_is_told(shape):
    declared = expectation(contender_from_name("compiled-frozen:packed"), shape, device=DeviceKind.CPU)
    frozen = profile(operators=[("mkldnn::_linear_pointwise", 1), ("cpp_fused_0", 1)])
    assert compared(frozen, declared).unexpected is None
    thawed = profile(operators=[("aten::addmm", 2), ("cpp_fused_0", 1)])
    assert compared(thawed, declared).unexpected == "expected none of 2 × aten::addmm, which ran"


def test_a_file_of_providers_declares_what_its_own_run_as_or_their_counts(shape):
    foreign = {"mine": "eager", "other": {"operators": 2}, "lost": "nobody"}

    def of(name):
        return expectation(Contender(provider=name), shape, device=DeviceKind.CPU, foreign=foreign)

    assert of("mine") == expectation(Contender(provider="eager"), shape, device=DeviceKind.CPU)
    assert (of("other").operators, of("other").structure) == (2, None)
    assert of("lost").reason == "its file says that it runs as nobody, of which nothing is declared"
    assert "EXPECTATIONS" in of("silent").reason
