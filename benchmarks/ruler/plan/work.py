"""Work of a shape: FLOP, bytes that must move, vector instructions. Pure arithmetic."""

from __future__ import annotations

from benchmarks.ruler.plan.points import Operation, Pass, Shape

_PRODUCTS = {Operation.LINEAR: 1, Operation.MLP: 2, Operation.GATED_MLP: 3}
_ELEMENT_BYTES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}

# Vector instructions a straightforward device function takes per element, counted from its formula: relu one
# max; silu, quick-gelu and tanh-gelu one exp, one reciprocal and their polynomials; erf-gelu a rational approximation.
_ACTIVATION_INSTRUCTIONS = {None: 0, "relu": 1, "silu": 9, "quick_gelu": 10, "gelu_tanh": 14, "gelu": 20}

DTYPES = tuple(_ELEMENT_BYTES)
ACTIVATIONS = tuple(name for name in _ACTIVATION_INSTRUCTIONS if name is not None)


def flop(shape: Shape) -> int:
    """Return the floating-point operations of the matrix products of one call; a multiply-add counts as 2.

    Forward: 2·M·D·H per product. A backward takes two products for each of the forward's.
    """
    products = _PRODUCTS[shape.operation] * (3 if shape.pass_ is Pass.FORWARD_BACKWARD else 1)
    return 2 * products * shape.batch * shape.dim * shape.hidden


def min_bytes(shape: Shape) -> int:
    """Return the bytes one call cannot avoid moving: weights and biases, x and y once.

    Forward and backward: weights are read and their gradients written, dy is read and dx written besides.
    """
    out_width = shape.hidden if shape.operation is Operation.LINEAR else shape.dim
    weights = _PRODUCTS[shape.operation] * shape.dim * shape.hidden
    if shape.operation is Operation.LINEAR:
        weights += shape.hidden
    elif shape.operation is Operation.MLP:
        weights += shape.hidden + shape.dim
    activations = shape.batch * (shape.dim + out_width)
    times = 2 if shape.pass_ is Pass.FORWARD_BACKWARD else 1
    return times * (weights + activations) * element_bytes(shape)


def element_bytes(shape: Shape) -> int:
    """Return the bytes of one element of x, y and the weights."""
    return _ELEMENT_BYTES[shape.dtype]


def activation_instructions(shape: Shape) -> int:
    """Return the vector instructions of the activation per element."""
    return _ACTIVATION_INSTRUCTIONS[shape.activation]


def intermediate_bytes(shape: Shape) -> int:
    """Return the bytes of one [rows, hidden] tensor, which eager writes after a step and reads in the next."""
    return shape.batch * shape.hidden * _ELEMENT_BYTES[shape.dtype]


def vector_instructions(shape: Shape) -> int:
    """Return the element-wise instructions of one call: the activation, and the product of gate and up.

    Forward and backward: the derivative is counted like one more activation.
    """
    per_element = activation_instructions(shape)
    if shape.operation is Operation.GATED_MLP:
        per_element += 1
    times = 2 if shape.pass_ is Pass.FORWARD_BACKWARD else 1
    return times * per_element * shape.batch * shape.hidden
