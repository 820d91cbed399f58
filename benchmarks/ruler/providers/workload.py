"""Workload of one call: inputs, eager module, reference and tolerance."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn import functional

from benchmarks.ruler.plan.points import Operation, Pass, Shape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# In float64 intermediate results take no more at a time.
MOST_EXACT_BYTES = 2**28
_PIECE = 2**20

ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "relu": functional.relu,
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "silu": functional.silu,
    "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
}


class Linear(nn.Linear):
    """act(x·Wᵀ + b) as one module, such as a user has. x: [rows, dim] → [rows, hidden]."""

    def __init__(self, dim: int, hidden: int, activation: str | None) -> None:
        super().__init__(dim, hidden)
        self.activation = activation

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute the formula of the class docstring."""
        out = functional.linear(x, self.weight, self.bias)
        return ACTIVATIONS[self.activation](out) if self.activation else out

    def weights(self) -> tuple[torch.Tensor, ...]:
        """Return w, b."""
        return self.weight, self.bias


class Mlp(nn.Module):
    """act(x·W1ᵀ + b1)·W2ᵀ + b2. x: [rows, dim] → [rows, dim]."""

    def __init__(self, dim: int, hidden: int, activation: str) -> None:
        super().__init__()
        self.up = nn.Linear(dim, hidden)
        self.down = nn.Linear(hidden, dim)
        self.activation = activation

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute the formula of the class docstring."""
        out: torch.Tensor = self.down(ACTIVATIONS[self.activation](self.up(x)))
        return out

    def weights(self) -> tuple[torch.Tensor, ...]:
        """Return w1, b1, w2, b2."""
        return self.up.weight, self.up.bias, self.down.weight, self.down.bias


class GatedMlp(nn.Module):
    """(act(x·Wgᵀ) ⊙ x·Wuᵀ)·Wdᵀ, no bias. x: [rows, dim] → [rows, dim]."""

    def __init__(self, dim: int, hidden: int, activation: str) -> None:
        super().__init__()
        self.gate = nn.Linear(dim, hidden, bias=False)
        self.up = nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)
        self.activation = activation

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute the formula of the class docstring."""
        out: torch.Tensor = self.down(ACTIVATIONS[self.activation](self.gate(x)) * self.up(x))
        return out

    def weights(self) -> tuple[torch.Tensor, ...]:
        """Return w_gate, w_up, w_down."""
        return self.gate.weight, self.up.weight, self.down.weight


EagerModule = Linear | Mlp | GatedMlp


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Tensors and eager module of one shape. x: [batch, dim]; grad_output: the output's shape, None for a forward."""

    shape: Shape
    module: EagerModule
    x: torch.Tensor
    grad_output: torch.Tensor | None

    def reference(self) -> tuple[torch.Tensor, ...]:
        """Compute the expected output in float64, from the weights and inputs that are timed.

        The output, and if the shape trains, the gradients of x and of each weight after it.
        """
        exact = self.exact_module()
        return exact_results(exact, self.x, list(exact.parameters()), self.grad_output, shape=self.shape)

    def exact_module(self) -> EagerModule:
        """Return a copy of the eager module in float64, on memory of its own."""
        exact = module_of(self.shape).to(self.x.device, torch.float64)
        exact.load_state_dict(self.module.state_dict())
        return exact

    def answer(self, function: Callable[[torch.Tensor], torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """Return the output (and gradients) of `function`, in the order of `reference`."""
        return output_and_gradients(function, self.x, list(self.module.parameters()), self.grad_output)


def workload(shape: Shape, *, device: torch.device) -> Workload:
    """Draw the workload of `shape`: inputs N(0, 1), weights N(0, 1)/√fan_in, seeded by the shape alone.

    Never zeros: products of zeros draw less power and run faster than real ones.
    """
    dtype = getattr(torch, shape.dtype)
    seed = int.from_bytes(hashlib.sha256(repr(shape).encode()).digest()[:7], "big")
    generator = torch.Generator().manual_seed(seed)
    module = module_of(shape)
    with torch.no_grad():
        for parameter in module.parameters():
            fan_in = parameter.shape[-1]
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / math.sqrt(fan_in))
    module = module.to(device, dtype)
    trains = shape.pass_ is Pass.FORWARD_BACKWARD
    module.requires_grad_(trains)
    x = torch.randn(shape.batch, shape.dim, generator=generator).to(device, dtype).requires_grad_(trains)
    out_width = shape.hidden if shape.operation is Operation.LINEAR else shape.dim
    grad = torch.randn(shape.batch, out_width, generator=generator).to(device, dtype) if trains else None
    return Workload(shape=shape, module=module, x=x, grad_output=grad)


def padded_with_nan(load: Workload) -> Workload:
    """Copy the workload, each tensor a contiguous slice of a buffer with NaN before and behind it.

    A kernel that reads beyond its bounds, even if it then multiplies by zero, has NaN in its output.
    """
    with torch.no_grad():
        for parameter in load.module.parameters():
            parameter.data = _tensor_padded_with_nan(parameter.data)
        x = _tensor_padded_with_nan(load.x.detach()).requires_grad_(load.x.requires_grad)
        grad = None if load.grad_output is None else _tensor_padded_with_nan(load.grad_output)
    return replace(load, x=x, grad_output=grad)


def _tensor_padded_with_nan(tensor: torch.Tensor) -> torch.Tensor:
    # As many as a large tile spans, and a multiple of any vector's length, so that alignment stays what it was.
    margin = 256 * 256
    buffer = torch.full((tensor.numel() + 2 * margin,), math.nan, dtype=tensor.dtype, device=tensor.device)
    inner = buffer[margin : margin + tensor.numel()].view(tensor.shape)
    return inner.copy_(tensor)


def output_and_gradients(
    function: Callable[[torch.Tensor], torch.Tensor],
    x: torch.Tensor,
    weights: list[torch.Tensor] | list[nn.Parameter],
    grad_output: torch.Tensor | None,
) -> tuple[torch.Tensor, ...]:
    """Return `function` of x; with a grad_output, also the gradients of x and of each of the weights.

    Raises: TypeError if that is no tensor.
    """
    # Of somebody's own function it is whatever it is.
    out: Any = function(x)
    if not isinstance(out, torch.Tensor):
        what = "nothing (None)" if out is None else type(out).__name__
        raise TypeError(f"its call returned {what}; it is to return y, a tensor")
    if grad_output is None:
        return (out,)
    return (out.detach(), *torch.autograd.grad(out, [x, *weights], grad_output))


def exact_results(
    module: EagerModule, x: torch.Tensor, weights: list[nn.Parameter], grad_output: torch.Tensor | None, *, shape: Shape
) -> tuple[torch.Tensor, ...]:
    """Return what `output_and_gradients` of `module` gives, which is in float64.

    As many rows at a time as MOST_EXACT_BYTES hold with all their intermediate results; weights' gradients add up.
    """
    n_rows = max(1, MOST_EXACT_BYTES // (8 * (4 * shape.dim + 6 * shape.hidden)))
    whole: list[torch.Tensor] = []
    sums: list[torch.Tensor] = []
    with torch.set_grad_enabled(grad_output is not None):
        for start in range(0, len(x), n_rows):
            some = x.detach()[start : start + n_rows].double().requires_grad_(grad_output is not None)
            grad = None if grad_output is None else grad_output[start : start + n_rows].double()
            of_rows = list(output_and_gradients(module, some, weights, grad))
            if len(some) == len(x):
                return tuple(of_rows)
            # Kept apart and joined in the end, they would be held twice.
            whole = whole or [each.new_empty(len(x), *each.shape[1:]) for each in of_rows[:2]]
            for tensor, part in zip(whole, of_rows, strict=False):
                tensor[start : start + len(some)] = part
            sums = [old.add_(new) for old, new in zip(sums, of_rows[2:], strict=True)] if start else of_rows[2:]
    return (*whole, *sums)


def module_of(shape: Shape) -> EagerModule:
    """Return an eager module of the shape, its weights as torch.nn draws them."""
    if shape.operation is Operation.LINEAR:
        return Linear(shape.dim, shape.hidden, shape.activation)
    activation = shape.activation or ""
    kind = Mlp if shape.operation is Operation.MLP else GatedMlp
    return kind(shape.dim, shape.hidden, activation)


def one_call(load: Workload, function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[], object]:
    """Return the call to time: `function` on the input, and its backward if the shape asks for it."""
    x, grad = load.x, load.grad_output
    if grad is None:
        return lambda: function(x)
    wanted = [x, *load.module.parameters()]
    return lambda: torch.autograd.grad(function(x), wanted, grad)


def tolerance(shape: Shape) -> float:
    """Return the largest error_rel that rounding explains: 8 units of the dtype plus 4·√K of float32's accumulation.

    Source: the probabilistic bound of Higham and Mary (2019), error of a K-term sum ~ √K·u, with a margin of 4.
    """
    unit = torch.finfo(getattr(torch, shape.dtype)).eps / 2
    trains = shape.pass_ is Pass.FORWARD_BACKWARD
    longest_sum = max(shape.dim, shape.hidden, shape.batch if trains else 1)
    return float(8 * unit + 4 * math.sqrt(longest_sum) * torch.finfo(torch.float32).eps / 2)


def error_rel(answer: Sequence[torch.Tensor], reference: Sequence[torch.Tensor]) -> float:
    """Return ‖out − ref‖ / ‖ref‖ in float64, the largest over outputs and gradients.

    NaN if any holds one; infinite if a shape differs.
    """
    if [each.shape for each in answer] != [each.shape for each in reference]:
        return math.inf
    errors = [_error_of(out, exact) for out, exact in zip(answer, reference, strict=True)]
    return math.nan if any(math.isnan(error) for error in errors) else max(errors)


def _error_of(out: torch.Tensor, exact: torch.Tensor) -> float:
    """Return ‖out − exact‖ / ‖exact‖, a piece at a time: in float64 an output of many rows takes much memory.

    Of an exact result of zeros, as the gradients of a dead relu are, 0 if `out` is the same, else infinite.
    """
    norm = torch.linalg.vector_norm
    pieces = list(zip(out.reshape(-1).split(_PIECE), exact.reshape(-1).split(_PIECE), strict=True))
    off = torch.stack([norm(some.double() - some_exact) for some, some_exact in pieces])
    whole = torch.stack([norm(some_exact) for _, some_exact in pieces])
    distance, size = float(norm(off)), float(norm(whole))
    if size:
        return distance / size
    return distance * math.inf if distance else 0.0


def why_wrong(
    answer: Sequence[torch.Tensor], reference: Sequence[torch.Tensor], error: float, *, limit: float
) -> str | None:
    """Return why an answer with this error_rel is wrong, or None if rounding explains it."""
    if error <= limit:
        return None
    what = "the output" if len(reference) == 1 else "the output or a gradient"
    for got, exact in zip(answer, reference, strict=True):
        if got.shape != exact.shape:
            return f"{what} has shape {tuple(got.shape)}; it should be {tuple(exact.shape)}"
    if math.isnan(error):
        return f"{what} holds NaN"
    return f"{what} is off by {error:.2g} of the reference's norm; rounding explains at most {limit:.2g}"
