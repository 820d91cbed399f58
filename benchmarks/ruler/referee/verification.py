"""Verification of a timed call's result against the reference of what that call was given."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from benchmarks.ruler.plan.points import Operation
from benchmarks.ruler.plan.work import flop
from benchmarks.ruler.providers.workload import error_rel, exact_results, module_of, tolerance, why_wrong, workload
from benchmarks.ruler.referee.fingerprint import Fingerprint
from benchmarks.ruler.referee.gradients import RequiredGradients
from benchmarks.ruler.referee.shared_modules import SharedModules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.ruler.providers.workload import EagerModule, Workload
    from benchmarks.ruler.referee.rotation import Contents

# A larger result is verified in part: rows of the output, and the gradients of some hidden units' weights.
_MOST_FLOP, _LEAST_PART = 32e6, 4
_KEPT_BYTES = 2**27
# Which dimension of each parameter counts the hidden units.
_HIDDEN_DIMS: dict[Operation, tuple[int | None, ...]] = {
    Operation.LINEAR: (0, 0),
    Operation.MLP: (0, 0, 1, None),
    Operation.GATED_MLP: (0, 0, 1),
}


class Verification:
    """Verifier of the results of one workload; made before any provider is loaded, with weights of its own."""

    def __init__(self, load: Workload) -> None:
        self._load = load
        self._trains = load.grad_output is not None
        self._random = random.Random()  # noqa: S311 - unpredictable enough; it hides no secret
        with torch.inference_mode(mode=False), torch.no_grad():
            self._weights = [parameter.detach().clone() for parameter in load.module.parameters()]
            self._inputs = _inputs_of(load)
            self._fingerprint = Fingerprint(load.x.device)
            self._of_inputs = [self._fingerprint.of(each) for each in self._inputs]
            self._shared = [*load.module.parameters(), *self._inputs]
            self._memory = [each.data for each in self._shared]
            self._classes = [type(each) for each in self._shared]
            self._gradients = RequiredGradients(self._shared)
            self._layouts = self._layouts_now()
            self._versions = self._versions_now()
            self._modules = SharedModules(load.module)
            n_bytes = 8 * sum(weight.numel() for weight in self._weights)
            self._exact = load.exact_module() if n_bytes <= _KEPT_BYTES else None

    def why_odd(self, output: object) -> str | None:
        """Return why `output` cannot be what the call should give, without looking at its values, or None."""
        tensors = tensors_of(output)
        expected = self._expected_shapes()
        if tensors is None or len(tensors) != len(expected):
            return f"its result is no tensor ({type(output).__name__})"
        for tensor, shape in zip(tensors, expected, strict=True):
            if type(tensor) is not torch.Tensor or _has_code_of_its_own(tensor):
                return f"its result computes when it is looked at, after the time is taken ({type(tensor).__name__})"
            if tensor.shape != shape:
                return f"its result has shape {tuple(tensor.shape)}; it should be {tuple(shape)}"
            x = self._load.x
            if tensor.dtype != x.dtype or tensor.device != x.device or tensor.layout != torch.strided:
                return f"its result is {tensor.dtype} on {tensor.device}, {tensor.layout}; the input was {x.dtype}"
        return None

    def why_wrong(self, output: object, contents: Contents) -> str | None:
        """Return why `output`, which is not odd, is not the result of `contents`, or None."""
        answer = tensors_of(output) or ()
        with torch.inference_mode(mode=False):
            got, exact = self._rows(answer, contents)
            if self._trains:
                more_got, more_exact = self._units(answer, contents)
                got, exact = (*got, *more_got), (*exact, *more_exact)
        for one, its_exact in zip(got, exact, strict=True):
            # Of a few values, as a bias has, the error is by chance larger beside their norm than it is of all.
            limit = tolerance(self._load.shape) * (1 + its_exact.numel() ** -0.5)
            if reason := why_wrong(got, exact, error_rel((one,), (its_exact,)), limit=limit):
                return reason
        return None

    def sabotage(self, *, thoroughly: bool) -> str | None:
        """Return what was done to the eager module that all contenders share, or None; it is undone.

        Not thoroughly: of the weights only the tensors' versions are looked at, which a provider can get round.
        """
        said = [each] if (each := self._modules.repaired()) else []
        if [type(each) for each in self._shared] != self._classes:
            for tensor, its_class in zip(self._shared, self._classes, strict=True):
                tensor.__class__ = its_class
            said.append("it changed the eager module or the input: their class")
        if any(tensor._backward_hooks for tensor in self._shared):  # noqa: SLF001 - torch tells it no other way
            for tensor in self._shared:
                tensor._backward_hooks = None  # noqa: SLF001 - the same
            said.append("it hooked into the gradients of what all share")
        if self._gradients.repaired():
            said.append("it changed whether the weights or the input that all share require gradients")
        if self._layouts_now() != self._layouts:
            for tensor, memory in zip(self._shared, self._memory, strict=True):
                tensor.data = memory
            said.append("it changed the eager module or the input: their memory")
        if self._versions_now() != self._versions or (thoroughly and self._is_changed()):
            self._give_back()
            said.append("it wrote to the weights or the input that all share")
        self._versions = self._versions_now()
        return said[0] if said else None

    def _is_changed(self) -> bool:
        weights = [each.detach() for each in self._load.module.parameters()]
        are_weights_kept = all(map(torch.equal, weights, self._weights))
        return not are_weights_kept or [self._fingerprint.of(each) for each in self._inputs] != self._of_inputs

    def _layouts_now(self) -> list[tuple[int, tuple[int, ...]]]:
        return [(tensor.data_ptr(), tensor.stride()) for tensor in self._shared]

    def _give_back(self) -> None:
        """Write what was there: kept weights, and inputs drawn anew, which are large and of which no copy is kept."""
        drawn = _inputs_of(workload(self._load.shape, device=self._load.x.device))
        with torch.inference_mode(mode=False), torch.no_grad():
            for tensor, kept in zip(self._shared, [*self._weights, *drawn], strict=True):
                tensor.data.copy_(kept)

    def _versions_now(self) -> list[int]:
        return [tensor._version for tensor in self._shared]  # noqa: SLF001 - autograd's own sign

    def _expected_shapes(self) -> list[torch.Size]:
        shape = self._load.shape
        out_width = shape.hidden if shape.operation is Operation.LINEAR else shape.dim
        out = torch.Size((shape.batch, out_width))
        return [out, self._load.x.shape, *(each.shape for each in self._weights)] if self._trains else [out]

    def _rows(self, answer: Sequence[torch.Tensor], contents: Contents) -> tuple[tuple[torch.Tensor, ...], ...]:
        """Return some rows of the output (and of the gradient of x), and what they should be."""
        shape = self._load.shape
        rows = self._some(shape.batch, flop(replace(shape, batch=1))).to(contents.x.device)
        grad = None if contents.grad_output is None else contents.grad_output[rows]
        exact = exact_results(self._exact or self._exact_again(), contents.x[rows], [], grad, shape=shape)
        return tuple(each[rows] for each in answer[: len(exact)]), exact

    def _units(self, answer: Sequence[torch.Tensor], contents: Contents) -> tuple[tuple[torch.Tensor, ...], ...]:
        """Return the gradients of some hidden units' weights, and what they should be, of a module of these only."""
        shape = self._load.shape
        units = self._some(shape.hidden, flop(replace(shape, hidden=1))).to(contents.x.device)
        dims = _HIDDEN_DIMS[shape.operation]

        def some(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
            return [
                each if dim is None else each.index_select(dim, units) for each, dim in zip(tensors, dims, strict=True)
            ]

        part_shape = replace(shape, hidden=len(units))
        part = module_of(part_shape).to(contents.x.device, torch.float64)
        with torch.no_grad():
            for parameter, weight in zip(part.parameters(), some(self._weights), strict=True):
                parameter.copy_(weight)
        grad = contents.grad_output
        if grad is None:
            raise ValueError("a forward has no gradients")
        grad = grad[:, units] if shape.operation is Operation.LINEAR else grad
        exact = exact_results(part, contents.x, list(part.parameters()), grad, shape=part_shape)[2:]
        return tuple(some(answer[2:])), exact

    def _some(self, n_all: int, flop_each: float) -> torch.Tensor:
        n_some = max(_LEAST_PART, int(_MOST_FLOP / max(1.0, flop_each)))
        chosen = range(n_all) if n_some >= n_all else self._random.sample(range(n_all), n_some)
        return torch.tensor(list(chosen))

    def _exact_again(self) -> EagerModule:
        exact = module_of(self._load.shape).to(self._load.x.device, torch.float64)
        with torch.no_grad():
            for parameter, weight in zip(exact.parameters(), self._weights, strict=True):
                parameter.copy_(weight)
        return exact


def snapshot(output: object) -> object:
    """Return a copy of a result as it is now, so that nobody completes or overwrites it afterwards."""
    tensors = tensors_of(output)
    if tensors is None or not all(type(tensor) is torch.Tensor for tensor in tensors):
        return output
    return tuple(tensor.detach().clone() for tensor in tensors)


def _inputs_of(load: Workload) -> list[torch.Tensor]:
    return [load.x] if load.grad_output is None else [load.x, load.grad_output]


def tensors_of(output: object) -> tuple[torch.Tensor, ...] | None:
    """Return the tensors of a result, which may be a tuple of them, or None if it holds anything else."""
    if isinstance(output, torch.Tensor):
        return (output,)
    if not isinstance(output, tuple):
        return None
    flat: list[torch.Tensor] = []
    for each in output:
        inner = tensors_of(each)
        if inner is None:
            return None
        flat.extend(inner)
    return tuple(flat)


def _has_code_of_its_own(tensor: torch.Tensor) -> bool:
    return any(callable(value) for value in vars(tensor).values())
