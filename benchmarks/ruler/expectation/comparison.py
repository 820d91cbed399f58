"""What a profile shows against what was expected of it: the counts beside each other, the difference in words. Pure."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from benchmarks.ruler.expectation.structure import (
    ADDITION,
    COPY,
    DERIVATIVE_OF,
    GENERATED,
    MULTIPLICATION,
    OWN,
    PRODUCT,
    SUM,
    expected_s,
    traffic_bytes,
)
from benchmarks.ruler.plan.units import count_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.ruler.expectation.declarations import Expectation
    from benchmarks.ruler.plan.points import DeviceKind, Shape
    from benchmarks.ruler.plan.roofline import Ceilings
    from benchmarks.ruler.record.outcome import ProfileOutcome

# cuBLAS splits the inner dimension of some products over programs and adds the parts up in a kernel of this name.
_SPLIT_REDUCTION = "splitkreduce"
_LONGEST_NAME = 60
_NO_CEILINGS = "no ceilings of this machine are known for the dtype"
_OPERATORS_OF_KIND = {
    PRODUCT: r"^aten::(addmm|mm|bmm|baddbmm|linear|matmul|mkldnn_linear|_addmm_activation)$|^mkldnn\w*::\w*linear",
    MULTIPLICATION: r"^aten::mul_?$",
    ADDITION: r"^aten::add_?$",
    SUM: r"^aten::sum$",
    COPY: r"^aten::copy_$",
    OWN: r"^fused_mlp\w*::",
    GENERATED: r"cpp_fused|triton_\w*fused",
    "gelu": r"^aten::gelu_?$",
    "gelu_tanh": r"^aten::gelu_?$",
    "silu": r"^aten::silu_?$",
    "relu": r"^aten::(relu|clamp_min)_?$",
    DERIVATIVE_OF + "gelu": r"^aten::gelu_backward$",
    DERIVATIVE_OF + "gelu_tanh": r"^aten::gelu_backward$",
    DERIVATIVE_OF + "silu": r"^aten::silu_backward$",
    DERIVATIVE_OF + "relu": r"^aten::threshold_backward$",
}
# Names of kernels say less: only what a declared kind is surely called is taken for it.
_KERNELS_OF_KIND = {
    PRODUCT: r"gemm|gemv|nvjet|cutlass|xmma|_mm_|triton_mm",
    MULTIPLICATION: r"mul",
    ADDITION: r"add",
    SUM: r"reduce|sum",
    OWN: r"mlp|linear_|dual_product|bias_activation|gate_product|geglu|swiglu|cublaslt",
    GENERATED: r"triton_\w*fused",
    "gelu": r"gelu",
    "gelu_tanh": r"gelu",
    "silu": r"silu",
    "relu": r"relu|clamp|threshold",
    DERIVATIVE_OF + "gelu": r"gelu",
    DERIVATIVE_OF + "gelu_tanh": r"gelu",
    DERIVATIVE_OF + "silu": r"silu",
    DERIVATIVE_OF + "relu": r"relu|clamp|threshold",
}
_WORDS = {OWN: "one of fused_mlp's", GENERATED: "one that inductor generated"}
_Counted = list[tuple[str, float]]


def compared(
    profile: ProfileOutcome,
    expected: Expectation,
    *,
    shape: Shape,
    device: DeviceKind,
    ceilings: Ceilings | None = None,
) -> ProfileOutcome:
    """Return `profile` with what was expected and, if it differs, the difference in words.

    `missing` says why an expected quantity is null.
    """
    n_bytes = traffic_bytes(expected.structure) if expected.structure else None
    n_operators = expected.operators or 0
    time_s = (
        expected_s(expected.structure, shape, ceilings, device=device, n_operators=n_operators)
        if expected.structure and ceilings
        else None
    )
    of_time = expected.reason if not expected.structure else _NO_CEILINGS
    reasons = {
        "expected_operator_count": (expected.operators, expected.reason),
        "expected_bytes": (n_bytes, expected.reason),
        "expected_time_s": (time_s, of_time),
    }
    return replace(
        profile,
        expected_operator_count=expected.operators,
        expected_kernel_launches=expected.launches,
        expected_bytes=n_bytes,
        expected_time_s=time_s,
        unexpected=_difference(profile, expected),
        missing={
            **profile.missing,
            **{name: reason for name, (value, reason) in reasons.items() if value is None and reason},
        },
    )


def _difference(profile: ProfileOutcome, expected: Expectation) -> str | None:
    parts = (
        _of_compilations(profile),
        _of_operators(profile, expected),
        _of_absent(profile, expected),
        _of_launches(profile, expected),
    )
    return "; ".join(filter(None, parts)) or None


def _of_operators(profile: ProfileOutcome, expected: Expectation) -> str | None:
    saw = profile.operator_count
    if expected.operators is None or saw is None or profile.compilations:
        return None  # what tracing runs is counted, too
    counted = [(row.name, row.outermost) for row in profile.operators if row.is_compute and row.outermost]
    extra, lacking = _matched(counted, expected.kinds, _OPERATORS_OF_KIND)
    if saw == expected.operators and not (extra and lacking):
        return None
    return f"expected {count_of(expected.operators, 'operator')}, saw {saw:.3g}{_besides(counted, extra, lacking)}"


def _of_absent(profile: ProfileOutcome, expected: Expectation) -> str | None:
    ran = [(row.name, row.count) for row in profile.operators if row.is_compute and row.name in expected.absent]
    return f"expected none of {_named(ran)}, which ran" if ran else None


def _of_launches(profile: ProfileOutcome, expected: Expectation) -> str | None:
    if expected.launches is None or profile.kernel_launches is None:
        return None
    n_reductions = sum(row.count for row in profile.kernels if _SPLIT_REDUCTION in row.name.lower())
    n_allowed = min(n_reductions, expected.library_products)
    if profile.kernel_launches - n_allowed == expected.launches:
        return None
    kinds = tuple(each.kind for each in expected.structure) if expected.structure else None
    counted = [
        (row.name, row.count) for row in profile.kernels if not n_allowed or _SPLIT_REDUCTION not in row.name.lower()
    ]
    extra, lacking = _matched(counted, kinds, _KERNELS_OF_KIND)
    every, extra = ([(_short_name(name), count) for name, count in names] for names in (counted, extra))
    saw = profile.kernel_launches - n_allowed
    return f"expected {count_of(expected.launches, 'launch')}, saw {saw:.3g}{_besides(every, extra, lacking)}"


def _of_compilations(profile: ProfileOutcome) -> str | None:
    saw = profile.compilations
    if not saw:
        return None
    return f"expected no compilation once it is warm, saw {saw:.3g} a call: it is compiled again and again"


def _matched(
    counted: _Counted, kinds: Sequence[str] | None, patterns: dict[str, str]
) -> tuple[_Counted, dict[str, float]]:
    """Return what no kind of `kinds` explains, by name, and the kinds that nothing was; all of it without kinds."""
    if not counted:
        return [], {}  # what ran was not recorded by name
    left: dict[str, float] = dict(Counter(kinds or ()))
    extra: _Counted = []
    for name, count in counted:
        unexplained = count
        for kind, n_left in left.items():
            if re.search(patterns[kind], name, re.IGNORECASE):
                taken = min(unexplained, n_left)
                left[kind] = n_left - taken
                unexplained -= taken
        if unexplained > 0:
            extra.append((name, unexplained))
    return extra, {kind: count for kind, count in left.items() if count > 0}


def _besides(every: _Counted, extra: _Counted, lacking: dict[str, float]) -> str:
    """Return, after a colon, what ran unexpectedly and what did not run; all that ran where none was expected."""
    told = []
    if extra:
        told.append(_named(every) if extra == every else f"extra {_named(extra)}")
    if lacking:
        told.append(f"missing {_named([(_WORDS.get(kind, kind), count) for kind, count in lacking.items()])}")
    return f": {', '.join(told)}" if told else ""


def _named(counted: Iterable[tuple[str, float]]) -> str:
    return ", ".join(
        f"{name[:_LONGEST_NAME]}" if count == 1 else f"{count:.3g} × {name[:_LONGEST_NAME]}" for name, count in counted
    )


def _short_name(name: str) -> str:
    """Return a kernel's name without its type, arguments and the namespaces it is in.

    What CUTLASS wraps is called by its first argument, since the wrapper is the same for all.
    """
    bare = name.replace("(anonymous namespace)::", "")
    bare = re.sub(r"^(?:std::enable_if<.*?>::type|void) ", "", bare)
    bare = re.sub(r"^cutlass::(?:Kernel2?|device_kernel)<", "", bare)
    path = re.split(r"[<(>]", bare, maxsplit=1)[0].strip().split("::")
    # gemvx::kernel: the last alone names nothing.
    return "::".join(path[-2:] if path[-1] == "kernel" else path[-1:]) or name
