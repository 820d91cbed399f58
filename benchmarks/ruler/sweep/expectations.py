"""Expectations: operators and kernels that each provider declares before it is measured.

Pure; imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchmarks.ruler.plan.points import Contender, DeviceKind, Operation, Pass, Shape, Weights

if TYPE_CHECKING:
    from benchmarks.ruler.record.outcome import ProfileOutcome

# cuBLAS splits the inner dimension of some products over programs and adds the parts up in a kernel of this name.
_SPLIT_REDUCTION = "splitkreduce"
_LONGEST_NAME = 60
# Beyond it, the gradient of the hidden activations is left to cuBLAS (docs/kernels.md).
_WIDEST_OUT = 1024


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """Operators and kernels of one call; None where not declared, as for what inductor decides.

    operators: compute operators of the host's profile. launches: kernels on a GPU, None on a CPU. library_products:
    how many of these are products of cuBLAS, each of which may end in one more kernel that adds up its parts.
    """

    operators: int | None = None
    launches: int | None = None
    library_products: int = 0


UNDECLARED = Expectation()
# They run what fused_mlp chooses.
_CHOOSING = frozenset({"fused", "fused-hoisted", "fused-captured"})
Declaration = Callable[[Shape], Expectation]


def expectation(
    contender: Contender, shape: Shape, *, device: DeviceKind, provider_detail: str | None = None
) -> Expectation:
    """Return what `contender` is expected to run at `shape` on `device`.

    provider_detail: its choice, as its timing reports it; `fused` is held to the level named there.
    """
    table = _PACKED if contender.weights is Weights.PACKED else _PLAIN
    declare = table.get(contender.provider)
    if contender.provider in _CHOOSING and device is DeviceKind.CUDA:
        level = (provider_detail or "").split(",")[0]
        trains = shape.pass_ is Pass.FORWARD_BACKWARD
        declare = _keeping_z if trains else _pure_in_one_operator if level == "pure" else _PLAIN.get(f"fused-{level}")
    if declare is None:
        return UNDECLARED
    declared = declare(shape)
    return declared if device is DeviceKind.CUDA else replace(declared, launches=None, library_products=0)


def compared(profile: ProfileOutcome, expected: Expectation) -> ProfileOutcome:
    """Return `profile` with the expectation and, if it differs, the difference in words."""
    return replace(
        profile,
        expected_operator_count=expected.operators,
        expected_kernel_launches=expected.launches,
        unexpected=_difference(profile, expected),
    )


def _difference(profile: ProfileOutcome, expected: Expectation) -> str | None:
    differences = []
    if None not in {expected.operators, profile.operator_count} and profile.operator_count != expected.operators:
        names = _named([(row.name, row.count) for row in profile.operators if row.is_compute])
        differences.append(
            f"{profile.operator_count:g} operators where {expected.operators} are declared; "
            f"with what they call: {names}"
        )
    if expected.launches is not None and profile.kernel_launches is not None:
        reductions = sum(row.count for row in profile.kernels if _SPLIT_REDUCTION in row.name.lower())
        launches = profile.kernel_launches - min(reductions, expected.library_products)
        if launches != expected.launches:
            names = _named([(row.name, row.count) for row in profile.kernels])
            differences.append(f"{profile.kernel_launches:g} kernels where {expected.launches} are declared: {names}")
    return "; ".join(differences) or None


def _named(counted: list[tuple[str, float]]) -> str:
    return ", ".join(f"{count:g} × {name[:_LONGEST_NAME]}" for name, count in counted) or "none"


def _eager(shape: Shape) -> Expectation:
    """Expect one operator and one kernel for each product and each pointwise step, forward and backward.

    Backward: two products for each, the sum for each bias, the activation's derivative, for the gate two
    multiplications, and the sum of what reaches x on two ways.
    """
    products, pointwise = _forward_steps(shape)
    if shape.pass_ is Pass.FORWARD_BACKWARD:
        biases = {Operation.LINEAR: 1, Operation.MLP: 2, Operation.GATED_MLP: 0}[shape.operation]
        of_the_gate = 2 if shape.operation is Operation.GATED_MLP else 0
        pointwise += biases + pointwise + of_the_gate
        products *= 3
    return Expectation(operators=products + pointwise, launches=products + pointwise, library_products=products)


def _pure_in_one_operator(shape: Shape) -> Expectation:
    return replace(_eager(shape), operators=1)


def _forward_steps(shape: Shape) -> tuple[int, int]:
    match shape.operation:
        case Operation.LINEAR:
            return 1, int(shape.activation is not None)
        case Operation.MLP:
            return 2, 1
        case Operation.GATED_MLP:
            return 3, 2


def _level(launches: dict[Operation, int], *, library_products: dict[Operation, int]) -> Declaration:
    """Declare a level of fusion: one operator and `launches` forward; its backward has kept only the inputs."""

    def declare(shape: Shape) -> Expectation:
        if shape.operation not in launches:
            return UNDECLARED
        products = library_products.get(shape.operation, 0)
        forward = Expectation(operators=1, launches=launches[shape.operation], library_products=products)
        return forward if shape.pass_ is Pass.FORWARD else _with_fused_backward(shape, forward=forward, keeps_z=False)

    return declare


def _pointwise(shape: Shape) -> Expectation:
    """Expect the products by cuBLAS, and one kernel for the bias, the activation and the gate."""
    products, _ = _forward_steps(shape)
    forward = Expectation(operators=1, launches=products + 1, library_products=products)
    return forward if shape.pass_ is Pass.FORWARD else _with_fused_backward(shape, forward=forward, keeps_z=False)


def _keeping_z(shape: Shape) -> Expectation:
    """Expect of `fused` in training on CUDA that z is kept, for which the forward runs as eager's."""
    products, pointwise = _forward_steps(shape)
    forward = Expectation(launches=products + pointwise, library_products=products)
    return _with_fused_backward(shape, forward=forward, keeps_z=True)


def _with_fused_backward(shape: Shape, *, forward: Expectation, keeps_z: bool) -> Expectation:
    """Expect the kernels of `forward` and the fused backward on CUDA; operators are not declared.

    Backward: z again unless it was kept; dz with all that is pointwise from one kernel, its product by cuBLAS where
    the output is wide or float32; two products for each of the forward's but one; each bias's sum. Sums of dz are
    taken in float32 and, for other dtypes, converted in a kernel of their own.
    """
    _, pointwise = _forward_steps(shape)
    converted = int(shape.dtype != "float32")
    apart = int(shape.dim > _WIDEST_OUT or shape.dtype == "float32")
    again = 0 if keeps_z else {Operation.LINEAR: 1, Operation.MLP: 1, Operation.GATED_MLP: 2}[shape.operation]
    match shape.operation:
        case Operation.LINEAR if not pointwise:
            products, own = 2, 1  # dx and dW from dy itself, and the bias's sum
            again = 0
        case Operation.LINEAR:
            products, own = 2 + again, 1 + 1 + converted
        case Operation.MLP:
            products, own = 3 + again + apart, 1 + 1 + converted + 1
        case Operation.GATED_MLP:
            products, own = 5 + again + apart, 1
    launches = (forward.launches or 0) + products + own
    return Expectation(launches=launches, library_products=forward.library_products + products)


def _fused(shape: Shape) -> Expectation:
    """Expect one operator; in training on the CPU, ATen's in the backward, the activation computed again."""
    if shape.pass_ is Pass.FORWARD:
        return Expectation(operators=1)
    products, pointwise = _forward_steps(shape)
    match shape.operation:
        case Operation.LINEAR:
            others = 1 + pointwise  # the bias's sum, the derivative
        case Operation.MLP:
            others = 2 + 2  # the biases' sums, the activation again, its derivative
        case Operation.GATED_MLP:
            others = 2 + 3 + 1  # the same, what is gated again and both of its gradients, the sum of what reaches x
    return Expectation(operators=1 + 2 * products + others)


def _one_operator(shape: Shape) -> Expectation:
    return Expectation(operators=1) if shape.pass_ is Pass.FORWARD else UNDECLARED


def _operator_per_product(shape: Shape) -> Expectation:
    return Expectation(operators=_forward_steps(shape)[0]) if shape.pass_ is Pass.FORWARD else UNDECLARED


def _addmm_activation(shape: Shape) -> Expectation:
    products, _ = _forward_steps(shape)
    return Expectation(operators=products, launches=products, library_products=products)


def _packed_eager(shape: Shape) -> Expectation:
    del shape
    return Expectation(operators=4, launches=4, library_products=2)


def _liger(shape: Shape) -> Expectation:
    """Expect three products and one kernel; backward six products, one kernel, and the sum of what reaches x."""
    if shape.pass_ is Pass.FORWARD:
        return Expectation(launches=4, library_products=3)
    return Expectation(launches=12, library_products=9)


_PLAIN: dict[str, Declaration] = {
    "eager": _eager,
    "fused": _fused,
    "fused-hoisted": _fused,
    "fused-pure": _eager,
    "fused-pointwise": _pointwise,
    "fused-epilogue": _level(
        {Operation.LINEAR: 1, Operation.MLP: 2, Operation.GATED_MLP: 2},
        library_products={Operation.MLP: 1, Operation.GATED_MLP: 1},
    ),
    "fused-single": _level({Operation.MLP: 1, Operation.GATED_MLP: 1}, library_products={}),
    "fused-cuda": _level({Operation.MLP: 1}, library_products={}),
    "addmm-activation": _addmm_activation,
    "liger": _liger,
}
_PACKED: dict[str, Declaration] = {
    "fused": _one_operator,
    "fused-cpp": _one_operator,
    "fused-onednn": _operator_per_product,
    "packed-eager": _packed_eager,
}
# What inductor, or the tuner of liger's LigerMLP, decides.
NOT_DECLARED = frozenset(
    {
        *("compiled", "compiled-dynamic", "compiled-cudagraphs"),
        *("compiled-max-autotune", "compiled-max-autotune-no-cudagraphs"),
        *("fused-captured", "liger-mlp"),
    }
)
