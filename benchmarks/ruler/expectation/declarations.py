"""Declarations: what each provider runs at a shape, before it is measured.

Pure; imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from benchmarks.ruler.expectation.structure import (
    COPY,
    OWN,
    PRODUCT,
    Structure,
    of_compiled,
    of_eager,
    of_epilogue,
    of_gate_and_up_together,
    of_gate_into_up,
    of_one_operator,
    of_pointwise,
)
from benchmarks.ruler.plan.points import Contender, DeviceKind, Operation, Pass, Shape, Weights, contender_from_name

# Beyond it, the gradient of the hidden activations is left to cuBLAS (docs/kernels.md).
_WIDEST_OUT = 1024
# Within one of these, one kernel writes z beside the activations (saving_pays in fused_mlp's linear.triton_epilogue).
_WIDEST_KEPT, _MOST_ROWS_KEPT = 512, 64


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """Operators and kernels of one call; None where not declared, `reason` then says why.

    operators: compute operators of the host's profile; kinds: what each of them is (structure.py), in any order.
    launches: kernels on a GPU, None on a CPU. library_products: how many of these are products of cuBLAS, each of which
    may end in one more kernel that adds up its parts. absent: names of operators that must not run. structure: what the
    call reads, writes and computes.
    """

    operators: int | None = None
    kinds: tuple[str, ...] | None = None
    launches: int | None = None
    library_products: int = 0
    absent: tuple[str, ...] = ()
    structure: Structure | None = None
    reason: str | None = None


Declaration = Callable[[Shape], Expectation]
# What a file of providers declares of its own: the contender one runs as, or its counts.
Foreign = Mapping[str, str | Mapping[str, int]]

# PyTorch has no operator of its own for it: each way of writing it takes another number of them.
_WITHOUT_OPERATOR = "quick_gelu"
_OF_ANY_NUMBER = Expectation(reason=f"PyTorch has no operator for {_WITHOUT_OPERATOR}, only ways to write it")
_BY_INDUCTOR = Expectation(reason="what it runs is for inductor to decide")
_FROM_OUTSIDE = Expectation(reason="a provider from outside, whose file declares nothing of it in EXPECTATIONS")
_BACKWARD = "what its backward runs is not declared"
_BACKWARD_TRAFFIC = "what its backward moves is not declared"
# They run what fused_mlp chooses.
_CHOOSING = frozenset({"fused", "fused-hoisted", "fused-captured"})


def expectation(
    contender: Contender,
    shape: Shape,
    *,
    device: DeviceKind,
    provider_detail: str | None = None,
    foreign: Foreign | None = None,
) -> Expectation:
    """Return what `contender` is expected to run at `shape` on `device`.

    provider_detail: its choice, as its timing reports it; `fused` is held to the level named there. foreign: what a
    file of providers declares.
    """
    said = (foreign or {}).get(contender.provider)
    if isinstance(said, str):
        declared = _declared(contender_from_name(said), shape, device=device, provider_detail=None)
        if declared is _FROM_OUTSIDE:
            declared = Expectation(reason=f"its file says that it runs as {said}, of which nothing is declared")
    elif said is not None:
        declared = Expectation(
            operators=said.get("operators"), launches=said.get("launches"), reason="its file declares counts alone"
        )
    else:
        declared = _declared(contender, shape, device=device, provider_detail=provider_detail)
    return declared if device is DeviceKind.CUDA else replace(declared, launches=None, library_products=0)


def _declared(contender: Contender, shape: Shape, *, device: DeviceKind, provider_detail: str | None) -> Expectation:
    name, is_packed, on_cuda = contender.provider, contender.weights is Weights.PACKED, device is DeviceKind.CUDA
    declare = (_PACKED if is_packed else _PLAIN).get(name)
    if is_packed and on_cuda and name == "fused":
        declare = _forward_of(_gate_up_packed, _GATED)
    elif name in _CHOOSING and on_cuda:
        level = (provider_detail or "").split(",")[0]
        trains = shape.pass_ is Pass.FORWARD_BACKWARD
        declare = _keeping_z if trains else _PLAIN.get(f"fused-{level}")
        if declare is None:
            return Expectation(reason="which implementation it chose is not known")
        if name == "fused-captured" and not trains:
            # The host copies the input to where the graph reads it; what the graph launches is no operator.
            return replace(declare(shape), operators=1, kinds=(COPY,))
    if declare is not None:
        return declare(shape)
    return Expectation(reason=_WHY_NOT[name]) if name in _WHY_NOT else _FROM_OUTSIDE


def _eager(shape: Shape) -> Expectation:
    """Expect one operator and one kernel for each product and each pointwise step, forward and backward."""
    if shape.activation == _WITHOUT_OPERATOR:
        return _OF_ANY_NUMBER
    return _of_each(of_eager(shape))


def _of_each(structure: Structure) -> Expectation:
    kinds = tuple(each.kind for each in structure)
    n = len(kinds)
    return Expectation(operators=n, kinds=kinds, launches=n, library_products=kinds.count(PRODUCT), structure=structure)


def _of_ours(structure: Structure) -> Expectation:
    """Expect one operator of fused_mlp's that launches the kernels of `structure`."""
    n_products = sum(each.kind == PRODUCT for each in structure)
    return Expectation(
        operators=1, kinds=(OWN,), launches=len(structure), library_products=n_products, structure=structure
    )


def _forward_steps(shape: Shape) -> tuple[int, int]:
    n_products = {Operation.LINEAR: 1, Operation.MLP: 2, Operation.GATED_MLP: 3}[shape.operation]
    return n_products, int(shape.activation is not None) + int(shape.operation is Operation.GATED_MLP)


def _level(structure: Callable[[Shape], Structure], *, operations: frozenset[Operation]) -> Declaration:
    """Declare a level of fusion: one operator and the kernels of `structure`; its backward has kept only the inputs."""

    def declare(shape: Shape) -> Expectation:
        if shape.operation not in operations:
            return Expectation(reason=f"this level has no {shape.operation}")
        forward = _of_ours(structure(shape))
        return forward if shape.pass_ is Pass.FORWARD else _with_fused_backward(shape, forward=forward, keeps_z=False)

    return declare


def _cublaslt(shape: Shape) -> Expectation:
    """Expect level 2 with every product by cuBLASLt, whose epilogue is the activation: operators of ATen's."""
    if shape.pass_ is Pass.FORWARD:
        return _forward_of(lambda at: _products_of_others(of_epilogue(at)), _UNGATED)(shape)
    declared = _level(of_epilogue, operations=_UNGATED)(shape)
    return declared if declared.launches is None else replace(declared, library_products=declared.library_products + 1)


def _keeping_z(shape: Shape) -> Expectation:
    """Expect of `fused` in training on CUDA that z is kept: by level 2's kernel where that pays, else as eager does."""
    if shape.activation == _WITHOUT_OPERATOR:
        return _OF_ANY_NUMBER
    of_forward = replace(shape, pass_=Pass.FORWARD)
    if shape.dtype != "float32" and (shape.dim <= _WIDEST_KEPT or shape.batch <= _MOST_ROWS_KEPT):
        forward = _of_ours(of_epilogue(of_forward))
    else:
        forward = _of_each(of_eager(of_forward))
    return _with_fused_backward(shape, forward=forward, keeps_z=True)


def _with_fused_backward(shape: Shape, *, forward: Expectation, keeps_z: bool) -> Expectation:
    """Expect the kernels of `forward` and the fused backward on CUDA; operators and traffic are not declared.

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
    return Expectation(
        launches=(forward.launches or 0) + products + own,
        library_products=forward.library_products + products,
        reason=_BACKWARD_TRAFFIC,
    )


def _one_of_ours(shape: Shape) -> Expectation:
    return _of_ours(of_one_operator(shape))


def _fused(shape: Shape) -> Expectation:
    """Expect one operator; in training on the CPU, ATen's in the backward, the activation computed again."""
    if shape.pass_ is Pass.FORWARD:
        return _one_of_ours(shape)
    if shape.activation == _WITHOUT_OPERATOR:
        return _OF_ANY_NUMBER
    products, pointwise = _forward_steps(shape)
    match shape.operation:
        case Operation.LINEAR:
            others = 1 + pointwise  # the bias's sum, the derivative
        case Operation.MLP:
            others = 2 + 2  # the biases' sums, the activation again, its derivative
        case Operation.GATED_MLP:
            others = 2 + 3 + 1  # the same, what is gated again and both of its gradients, the sum of what reaches x
    return Expectation(operators=1 + 2 * products + others, reason=_BACKWARD_TRAFFIC)


def _forward_of(declare: Declaration, operations: frozenset[Operation] = frozenset(Operation)) -> Declaration:
    """Declare what `declare` does of these operations' forward, and of nothing else."""

    def declared(shape: Shape) -> Expectation:
        if shape.operation not in operations:
            return Expectation(reason=f"it has no {shape.operation}")
        return declare(shape) if shape.pass_ is Pass.FORWARD else Expectation(reason=_BACKWARD)

    return declared


def _operator_per_product(shape: Shape) -> Expectation:
    if shape.activation == _WITHOUT_OPERATOR:
        return _OF_ANY_NUMBER
    is_gated = shape.operation is Operation.GATED_MLP
    return _products_of_others(of_gate_into_up(shape) if is_gated else of_epilogue(shape))


def _products_of_others(structure: Structure) -> Expectation:
    """Expect products of a library's, which end with the activation or the gate."""
    n = len(structure)
    return Expectation(operators=n, kinds=(PRODUCT,) * n, launches=n, library_products=n, structure=structure)


def _gate_up_packed(shape: Shape) -> Expectation:
    """Expect of weights packed on CUDA, a gated operation's only: both first products as one, the gate, the last."""
    return _of_ours(of_gate_and_up_together(shape, is_gate_fused=True))


def _frozen(shape: Shape) -> Expectation:
    """Expect no product by ATen, which knows no packed weights; how many operators there are, inductor decides."""
    del shape
    return replace(_BY_INDUCTOR, absent=("aten::addmm", "aten::mm", "aten::linear", "aten::matmul"))


def _liger(shape: Shape) -> Expectation:
    """Expect three products and one kernel; backward six products, one kernel, and the sum of what reaches x."""
    if shape.operation is not Operation.GATED_MLP:
        return Expectation(reason=f"it has no {shape.operation}")
    if shape.pass_ is Pass.FORWARD:
        return Expectation(launches=4, library_products=3, structure=of_pointwise(shape))
    return Expectation(launches=12, library_products=9, reason=_BACKWARD_TRAFFIC)


# Eager's products, and all that lies between two of them as one.
_COMPILED = _forward_of(lambda shape: _of_each(of_compiled(shape)))
_UNGATED = frozenset({Operation.LINEAR, Operation.MLP})
_GATED = frozenset({Operation.GATED_MLP})
_PLAIN: dict[str, Declaration] = {
    "eager": _eager,
    "compiled": _COMPILED,
    "compiled-dynamic": _COMPILED,
    "fused": _fused,
    "fused-hoisted": _fused,
    "fused-pure": _eager,
    "fused-pointwise": _level(of_pointwise, operations=frozenset(Operation)),
    "fused-epilogue": _level(of_epilogue, operations=frozenset(Operation)),
    "fused-cublaslt": _cublaslt,
    "fused-single": _level(of_one_operator, operations=frozenset({Operation.MLP, Operation.GATED_MLP})),
    "fused-cuda": _level(of_one_operator, operations=frozenset({Operation.MLP})),
    "addmm-activation": _forward_of(lambda shape: _products_of_others(of_epilogue(shape)), _UNGATED),
    "liger": _liger,
}
_PACKED: dict[str, Declaration] = {
    "fused": _forward_of(_one_of_ours),
    "fused-cpp": _forward_of(_one_of_ours),
    "fused-onednn": _forward_of(_operator_per_product),
    "packed-eager": _forward_of(lambda shape: _of_each(of_gate_and_up_together(shape, is_gate_fused=False)), _GATED),
    "compiled-frozen": _frozen,
    "onnxruntime": _forward_of(lambda shape: Expectation(operators=1, structure=of_one_operator(shape))),
}
_INDUCTOR = _BY_INDUCTOR.reason or ""
_WHY_NOT = {
    **dict.fromkeys(("compiled-cudagraphs", "compiled-max-autotune"), _INDUCTOR),
    **dict.fromkeys(("compiled-max-autotune-no-cudagraphs", "compiled-max-autotune-tma"), _INDUCTOR),
    "fused-captured": "a captured graph is a GPU's, and declared by what it captured",
    "liger-mlp": "what it runs is for liger's tuner to decide",
}
NOT_DECLARED = frozenset(_WHY_NOT)
OURS = frozenset({*_PLAIN, *_PACKED, *_WHY_NOT})
"""Names of the providers that need no file from outside."""
