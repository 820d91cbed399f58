"""Cases of the article as torch.profiler made them on a CPU, and kernels as a GPU names them."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime

from results.files.stacks import FoldedStack
from results.judgement.article.cases import Case, Entry, Observed
from results.judgement.article.explanations import explanations
from results.judgement.article.steps import call_from
from results.output.article import Setting
from results.rows import KernelRow, OperatorRow, PointRow, ProfileRow

SETTING = Setting(machine="desk", environment="py3.11-cpu-t1", commit="a" * 40)
LINEAR = Case(
    operation="linear", activation=None, dtype="float32", rows=1024, dim=32, hidden=64, flop=4_194_304,
    min_bytes=401_664, intermediate_bytes=262_144, steps={"eager": 1, "compiled": 1, "fused": 1},
)  # fmt: skip
GEGLU = replace(
    LINEAR, operation="gated_mlp", activation="gelu_tanh", rows=64, dim=64, hidden=256, intermediate_bytes=65_536,
    steps={"eager": 5, "compiled": 4, "fused": 1, "liger": 4},
)  # fmt: skip
# Profiles as torch.profiler made them on a CPU: computing operators, and folded stacks in nanoseconds.
COMPILED = "Torch-Compiled Region;## Call CompiledFxGraph ##"
EAGER_LINEAR = {
    "aten::linear": 5166, "aten::linear;aten::addmm": 54469, "aten::linear;aten::addmm;aten::copy_": 46201,
    "aten::linear;aten::addmm;aten::expand": 1677, "aten::linear;aten::t": 2714,
    "aten::linear;aten::t;aten::transpose": 6053,
}  # fmt: skip
COMPILED_LINEAR = {
    "Torch-Compiled Region": 31090, COMPILED: 15778, f"{COMPILED};aten::addmm": 40732,
    f"{COMPILED};aten::addmm;aten::copy_": 33580, "TorchDynamo Cache Lookup": 6546,
}  # fmt: skip
EAGER_GEGLU = {
    "aten::gelu": 30000, "aten::linear": 2774, "aten::linear;aten::matmul;aten::mm": 60000, "aten::mul": 10000,
}  # fmt: skip
INDUCTOR = {COMPILED: 23740, f"{COMPILED};aten::mm": 60000, f"{COMPILED};cpp_fused_gelu_mul_0": 30000}
COMPILED_GEGLU = {**INDUCTOR, "TorchDynamo Cache Lookup": 6832}
PRODUCT = "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x3_tn"
OTHER_TILE = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_tn"
GELU = "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&)>(int)"
MUL = "void at::native::elementwise_kernel<4, at::native::MulFunctor<c10::BFloat16>>(int)"
GENERATED = "triton_poi_fused_gelu_mul_0"


def row(name, *, speedup=None, peak=None, **others):
    of_speedup = (
        {"speedup_vs_eager": speedup, "speedup_ci_low": speedup * 0.98, "speedup_ci_high": speedup * 1.02}
        if speedup
        else {}
    )
    known = {"provider": name, "weights": "plain", "state": "ok", "latency_s": 1e-4 / (speedup or 1)}
    return PointRow(**{**dict.fromkeys(PointRow._fields), **known, **of_speedup, "peak_memory_bytes": peak, **others})


def profile(stacks, *, counts=None, kernels=(), runtime_calls=None):
    """A profile whose operators are the frames of `stacks`; aten's that compute are known by name."""
    computing = ("aten::addmm", "aten::mm", "aten::gelu", "aten::mul", "aten::copy_")
    frames = dict.fromkeys(frame for text in stacks for frame in text.split(";"))
    operators = tuple(
        OperatorRow(
            name=name, count=(counts or {}).get(name, 1.0), self_time_s=1e-6, total_time_s=1e-6,
            is_compute=name in computing or name.startswith(("cpp_fused", "fused_mlp::")),
        )
        for name in frames
    )  # fmt: skip
    return ProfileRow(**{
        **{field.name: None for field in fields(ProfileRow)}, "state": "ok", "measured_at": datetime.now(UTC),
        "operators": operators, "gaps": (), "runtime_calls": runtime_calls,
        "kernels": tuple(KernelRow(name=name, count=count, device_time_s=time_s) for name, count, time_s in kernels),
    })  # fmt: skip


def entry(name, stacks, *, counts=None, kernels=(), runtime_calls=None, **others):
    found = profile(stacks, counts=counts, kernels=kernels, runtime_calls=runtime_calls)
    folded = [FoldedStack(("forward", *text.split(";")), time_ns * 1e-9) for text, time_ns in stacks.items()]
    return Entry(row=row(name, **others), profile=found, call=call_from(found, folded))


def linear(**others):
    eager = entry("eager", EAGER_LINEAR)
    compiled = entry("compiled", COMPILED_LINEAR, speedup=0.5, **others)
    fused = entry("fused", {"fused_mlp::linear": 60462, "fused_mlp::linear;aten::empty": 3475}, speedup=1.2)
    return Observed(case=LINEAR, entries=(eager, compiled, fused))


def geglu(**others):
    eager = entry("eager", EAGER_GEGLU, counts={"aten::mm": 3.0}, peak=196_608)
    compiled = entry("compiled", COMPILED_GEGLU, counts={"aten::mm": 3.0}, peak=131_072, speedup=1.1, **others)
    fused = entry("fused", {"fused_mlp::gated_mlp": 80000}, peak=81_920, speedup=1.5)
    return Observed(case=GEGLU, entries=(eager, compiled, fused))


def on_gpu(*contenders, case=GEGLU, calls=()):
    """Entries by name, each with its kernels (name, count, seconds)."""
    return Observed(
        case=case,
        entries=tuple(
            entry(name, {"aten::linear": 10}, kernels=kernels, runtime_calls=calls, speedup=speedup)
            for name, speedup, kernels in contenders
        ),
    )


EAGER_ON_GPU = ("eager", None, [(PRODUCT, 2, 3.8e-4), (OTHER_TILE, 1, 1.7e-4), (GELU, 1, 6e-5), (MUL, 1, 7e-5)])
COMPILED_ON_GPU = ("compiled", 1.1, [(PRODUCT, 2, 3.8e-4), (OTHER_TILE, 1, 1.7e-4), (GENERATED, 1, 8.9e-5)])


def told(observed):
    """The texts by rule."""
    found = {}
    for each in explanations(observed):
        found.setdefault(each.rule, []).append(each.text)
    return found
