"""Structure of an implementation: what each of its operators computes, reads and writes, in order. Pure arithmetic.

On a GPU one of these is one kernel. Each reads its operands once and writes what it returns once, so that an
intermediate is written by one and read by the next; what a library copies inside a product is not counted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchmarks.ruler.plan import work
from benchmarks.ruler.plan.points import CachePolicy, DeviceKind, Operation, Pass, Shape

if TYPE_CHECKING:
    from benchmarks.ruler.plan.roofline import Ceilings

# Kinds of operators besides the activations, which are called by their names.
PRODUCT, MULTIPLICATION, ADDITION, SUM, OWN, GENERATED = "product", "mul", "add", "sum", "own", "generated"
COPY = "copy"
DERIVATIVE_OF = "derivative of "


@dataclass(frozen=True, kw_only=True)
class DeclaredOperator:
    """One operator of a structure: FLOP of its products, its vector instructions, and the bytes it reads and writes."""

    kind: str
    flop: int = 0
    vector_instructions: int = 0
    n_bytes: int = 0


Structure = tuple[DeclaredOperator, ...]


def traffic_bytes(structure: Structure) -> int:
    """Return the bytes that the operators of `structure` read and write together."""
    return sum(each.n_bytes for each in structure)


def expected_s(
    structure: Structure, shape: Shape, ceilings: Ceilings, *, device: DeviceKind, n_operators: int
) -> float | None:
    """Return the time of one call if each operator runs at the machine's ceilings, one after the other.

    Never below the floor: what moves between operators is added to it, and each of them is dispatched (CPU) or launched
    (CUDA). On CUDA the host dispatches `n_operators` while the device works, so the longer of the two counts. Data
    lives in the level that holds all the call must move, or the operator's own if that is more; a cold point's in
    memory. None where no ceiling of that dtype was measured.
    """
    peak = ceilings.matmul_flop_per_s.get(shape.dtype)
    if peak is None:
        return None
    on_cpu = device is DeviceKind.CPU
    least_bytes, is_cold = work.min_bytes(shape), shape.cache is CachePolicy.COLD
    working_s = 0.0
    for each in structure:
        product_s = each.flop / peak
        vector_s = each.vector_instructions / ceilings.vector_instruction_per_s
        compute_s = product_s + vector_s if on_cpu else max(product_s, vector_s)
        level = ceilings.bytes_per_s_of_memory() if is_cold else ceilings.bytes_per_s(max(each.n_bytes, least_bytes))
        working_s += max(compute_s, each.n_bytes / level)
    dispatching_s = n_operators * ceilings.dispatch_s
    if on_cpu:
        return working_s + dispatching_s
    return max(working_s + len(structure) * (ceilings.launch_s or 0.0), dispatching_s)


def of_eager(shape: Shape) -> Structure:
    """Return the structure of eager: an operator for each product and each pointwise step, forward and backward."""
    of = _Operators(shape)
    match shape.operation:
        case Operation.LINEAR:
            forward = (of.product(of.x, of.w, of.hidden, of.z), *of.activation())
        case Operation.MLP:
            forward = (
                of.product(of.x, of.w, of.hidden, of.z),
                *of.activation(),
                of.product(of.z, of.w, of.dim, of.x),
            )
        case Operation.GATED_MLP:
            first = of.product(of.x, of.w, of.z)
            forward = (first, first, *of.activation(), of.multiplication(), of.product(of.z, of.w, of.x))
    return forward if shape.pass_ is Pass.FORWARD else (*forward, *_backward_of_eager(of))


def _backward_of_eager(of: _Operators) -> Structure:
    """Return eager's backward: two products for each of the forward's, each bias's sum, the pointwise steps' own."""
    of_input, of_weight = of.product(of.z, of.w, of.x), of.product(of.z, of.x, of.w)
    match of.shape.operation:
        case Operation.LINEAR:
            return (*of.derivative(), of_input, of_weight, of.sum(of.z, of.hidden))
        case Operation.MLP:
            return (
                *(of.product(of.x, of.w, of.z), of.product(of.x, of.z, of.w), of.sum(of.x, of.dim)),
                *(*of.derivative(), of_input, of_weight, of.sum(of.z, of.hidden)),
            )
        case Operation.GATED_MLP:
            return (
                *(of.product(of.x, of.w, of.z), of.product(of.x, of.z, of.w)),
                *(of.multiplication(), of.multiplication(), *of.derivative()),
                *(of_input, of_weight, of_input, of_weight, of.addition(of.x)),
            )


def of_compiled(shape: Shape) -> Structure:
    """Return the structure of torch.compile, forward: eager's products, and all between two as one generated."""
    of = _Operators(shape)
    match shape.operation:
        case Operation.LINEAR:
            return of.product(of.x, of.w, of.hidden, of.z), *(of.generated(of.z, of.z) if shape.activation else ())
        case Operation.MLP:
            last = of.product(of.z, of.w, of.dim, of.x)
            return of.product(of.x, of.w, of.hidden, of.z), *of.generated(of.z, of.z), last
        case Operation.GATED_MLP:
            first = of.product(of.x, of.w, of.z)
            return first, first, *of.generated(of.z, of.z, of.z), of.product(of.z, of.w, of.x)


def of_pointwise(shape: Shape) -> Structure:
    """Return the structure of level 1, forward: the products, and one kernel for bias, activation and gate."""
    of = _Operators(shape)
    match shape.operation:
        case Operation.LINEAR:
            return of.product(of.x, of.w, of.z), of.own(of.z, of.hidden, of.z)
        case Operation.MLP:
            last = of.product(of.z, of.w, of.dim, of.x)
            return of.product(of.x, of.w, of.z), of.own(of.z, of.hidden, of.z), last
        case Operation.GATED_MLP:
            first = of.product(of.x, of.w, of.z)
            return first, first, of.own(of.z, of.z, of.z), of.product(of.z, of.w, of.x)


def of_epilogue(shape: Shape) -> Structure:
    """Return the structure of level 2, forward: the activation, and the gate, end the first product."""
    of = _Operators(shape)
    match shape.operation:
        case Operation.LINEAR:
            return (of.own_product(of.x, of.w, of.hidden, of.z),)
        case Operation.MLP:
            return of.own_product(of.x, of.w, of.hidden, of.z), of.product(of.z, of.w, of.dim, of.x)
        case Operation.GATED_MLP:
            return of.own_product(of.x, of.w, of.w, of.z, times=2), of.product(of.z, of.w, of.x)


def of_one_operator(shape: Shape) -> Structure:
    """Return the structure of level 3, or of any operator seen from outside: operands read once, the result written."""
    whole = DeclaredOperator(
        kind=OWN,
        flop=work.flop(shape),
        vector_instructions=work.vector_instructions(shape),
        n_bytes=work.min_bytes(shape),
    )
    return (whole,)


def of_gate_and_up_together(shape: Shape, *, is_gate_fused: bool) -> Structure:
    """Return the structure of gated weights packed: gate and up as one product, the gate in one kernel or two."""
    of = _Operators(shape)
    both = of.product(of.x, of.w, of.w, of.z, of.z, times=2)
    gate = (of.own(of.z, of.z, of.z),) if is_gate_fused else (*of.activation(), of.multiplication())
    return (both, *gate, of.product(of.z, of.w, of.x))


def of_gate_into_up(shape: Shape) -> Structure:
    """Return the structure, forward and gated, of a product that ends with the activation, and one with the gate."""
    of = _Operators(shape)
    gate = replace(of.product(of.x, of.w, of.z), vector_instructions=work.activation_instructions(shape) * of.z)
    up = replace(of.product(of.x, of.w, of.z, of.z), vector_instructions=of.z)
    return gate, up, of.product(of.z, of.w, of.x)


class _Operators:
    """Operators of a shape; x, z, w, dim and hidden count the elements of the operands of these sizes."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.dim, self.hidden = shape.dim, shape.hidden
        self.x, self.z = shape.batch * shape.dim, shape.batch * shape.hidden
        self.w = shape.dim * shape.hidden
        self._activating = work.activation_instructions(shape)

    def product(self, *operands: int, times: int = 1) -> DeclaredOperator:
        flop = 2 * times * self.shape.batch * self.w
        return DeclaredOperator(kind=PRODUCT, flop=flop, n_bytes=self._bytes(*operands))

    def own_product(self, *operands: int, times: int = 1) -> DeclaredOperator:
        return replace(self.own(*operands), flop=2 * times * self.shape.batch * self.w)

    def own(self, *operands: int) -> DeclaredOperator:
        instructions = (self._activating + (self.shape.operation is Operation.GATED_MLP)) * self.z
        return DeclaredOperator(kind=OWN, vector_instructions=instructions, n_bytes=self._bytes(*operands))

    def generated(self, *operands: int) -> Structure:
        return (replace(self.own(*operands), kind=GENERATED),)

    def activation(self) -> Structure:
        return self._activation("")

    def derivative(self) -> Structure:
        return self._activation(DERIVATIVE_OF)

    def _activation(self, prefix: str) -> Structure:
        name = self.shape.activation
        if name is None:
            return ()
        n_operands = 3 if prefix else 2
        n_bytes, instructions = self._bytes(*[self.z] * n_operands), self._activating * self.z
        return (DeclaredOperator(kind=prefix + name, vector_instructions=instructions, n_bytes=n_bytes),)

    def multiplication(self) -> DeclaredOperator:
        n_bytes = self._bytes(self.z, self.z, self.z)
        return DeclaredOperator(kind=MULTIPLICATION, vector_instructions=self.z, n_bytes=n_bytes)

    def addition(self, n: int) -> DeclaredOperator:
        return DeclaredOperator(kind=ADDITION, vector_instructions=n, n_bytes=self._bytes(n, n, n))

    def sum(self, n: int, width: int) -> DeclaredOperator:
        return DeclaredOperator(kind=SUM, vector_instructions=n, n_bytes=self._bytes(n, width))

    def _bytes(self, *operands: int) -> int:
        return sum(operands) * work.element_bytes(self.shape)
