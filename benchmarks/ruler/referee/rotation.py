"""Inputs of timed calls: they rotate within a sample and change between samples, at the same cost for all."""

from __future__ import annotations

import random
import secrets
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from benchmarks.ruler.referee.gradients import RequiredGradients

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.ruler.providers.workload import Workload

# Few and small enough to stay in the caches beside the weights, so that a warm call is warm.
_MOST_INPUTS, _MOST_BYTES = 16, 2**18
_SPARE_VALUES = 2**18
# A larger input is this many values over and over. A prime, so that no two of its rows are alike.
_PERIOD = 262_147
_ALIGNED_TO = 512
# Of each refill by another factor: whoever has read the whole pool by and by knows no result of what comes next.
_SCALES = (0.8, 1.25)


class Contents(NamedTuple):
    """What one call was given: the inputs themselves. x: [batch, dim]; grad_output: the output's shape, or None."""

    x: torch.Tensor
    grad_output: torch.Tensor | None


class Rotation:
    """Inputs of one workload, for all its contenders.

    Until `start`, a call takes the workload's own input; then the inputs that `prepare` filled, in turn. Their contents
    are N(0, s²), of an s between 0.8 and 1.25 and a seed that nobody knows beforehand, and change without a trace in
    the tensors' version.
    """

    def __init__(self, load: Workload) -> None:
        self._load = load
        self._random = random.Random()  # noqa: S311 - unpredictable enough; it hides no secret
        n_inputs = max(2, min(_MOST_INPUTS, _MOST_BYTES // (load.x.numel() * load.x.element_size())))
        # Inference tensors could not be saved for a backward, and inference mode may be on by now.
        with torch.inference_mode(mode=False):
            self._x = _Ring(load.x, n_inputs)
            self._grad = None if load.grad_output is None else _Ring(load.grad_output, n_inputs)
        grads = [None] * n_inputs if self._grad is None else self._grad.inputs
        self._items = [self._item(x, grad) for x, grad in zip(self._x.inputs, grads, strict=True)]
        self._resting = [self._item(load.x, load.grad_output)] * 256
        self._order = list(range(n_inputs))
        self._calls = 1
        self._upcoming = list(self._resting)
        self._following = chain.from_iterable(self._lists())

    @property
    def n_inputs(self) -> int:
        """How many inputs take turns, so many at most."""
        return len(self._items)

    def call(self, function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[], object]:
        """Return the call to time: `function` on the next input, and its backward if the shape asks for it.

        A backward returns the output, too: one who never looks at it need not compute it.
        """
        following = self._following
        if self._grad is None:
            # No frame of ours: taking the next input costs about what a lambda around a fixed one did.
            return map(function, following).__next__
        gradients = torch.autograd.grad

        def forward_backward() -> object:
            x, wanted, grad_output = next(following)
            out = function(x)
            return out, gradients(out, wanted, grad_output)

        return forward_backward

    def prepare(self, calls: int) -> None:
        """Give the inputs of the next `calls` calls new contents."""
        self._calls = calls
        n_used = min(calls, len(self._items))
        first = self._random.randrange(len(self._items))
        n_items = len(self._items)
        self._order = [(first + index) % n_items for index in range(n_used)]
        for ring in (self._x, self._grad):
            if ring is not None:
                ring.refill(self._order, self._random)

    def start(self) -> None:
        """Let the next calls take the inputs that were prepared."""
        items = [self._items[index] for index in self._order]
        self._go_on_with(items * -(-self._calls // len(items)))

    def read(self) -> None:
        """Read the inputs that were prepared, so that the caches hold of them what they can."""
        for ring in (self._x, self._grad):
            if ring is not None:
                ring.read(self._order)

    def rest(self) -> None:
        """Let the next calls take the workload's own input."""
        self._go_on_with(list(self._resting))

    def last(self) -> Contents:
        """Return what the last of the prepared calls was given; unless it was `spoilt`, that is what they hold."""
        index = self._order[(self._calls - 1) % len(self._order)]
        return Contents(self._x.contents(index), None if self._grad is None else self._grad.contents(index))

    def spoilt(self) -> str | None:
        """Return that someone wrote to an input that was prepared, in words, or None."""
        rings = [ring for ring in (self._x, self._grad) if ring is not None]
        if all(ring.holds(index) for ring in rings for index in self._order):
            return None
        return "it wrote to its input"

    def repaired(self) -> str | None:
        """Give the inputs back what is not their contents; return that someone had changed it, in words, or None."""
        changed = [ring.repaired() for ring in (self._x, self._grad) if ring is not None]
        return next(filter(None, changed), None)

    def _item(self, x: torch.Tensor, grad_output: torch.Tensor | None) -> Any:  # noqa: ANN401 - what `call` unpacks
        if grad_output is None:
            return x
        return x, [x, *self._load.module.parameters()], grad_output

    def _go_on_with(self, items: list[Any]) -> None:
        # The iterator over a list that is emptied ends there, and asks for the next one.
        past, self._upcoming = self._upcoming, items
        past.clear()

    def _lists(self) -> Iterator[list[Any]]:
        while True:
            yield self._upcoming


class _Ring:
    """Tensors like one, in one piece of memory, filled from a pool of random values that is small."""

    def __init__(self, like: torch.Tensor, n_inputs: int) -> None:
        self._shape, self._numel = like.shape, like.numel()
        per_line = _ALIGNED_TO // like.element_size()
        self._stride = -(-self._numel // per_line) * per_line
        n_values = n_inputs * self._stride
        # Each input's values begin elsewhere in the pool, and go on at its beginning where it ends.
        self._step = min(self._stride, _SPARE_VALUES)
        self._is_small = self._stride <= _SPARE_VALUES
        n_pooled = (n_inputs - 1) * self._step + self._stride + _SPARE_VALUES if self._is_small else _PERIOD
        generator = torch.Generator(like.device).manual_seed(secrets.randbits(63))
        self._pool = torch.randn(n_pooled, generator=generator, device=like.device, dtype=like.dtype)
        self._memory = torch.zeros(n_values, dtype=like.dtype, device=like.device)
        self._starts = [0] * n_inputs
        self._scales = [1.0] * n_inputs
        self.inputs = [self._input(index, like) for index in range(n_inputs)]
        self._taken = [each.data for each in self.inputs]
        self._as_taken = self._as_they_are()
        self._gradients = RequiredGradients(self.inputs)

    def refill(self, order: list[int], rng: random.Random) -> None:
        """Overwrite the inputs numbered in `order`; whoever kept one of them, or its version, sees no sign of it."""
        start, scale = rng.randrange(_SPARE_VALUES), rng.uniform(*_SCALES)
        if self._is_small and len(order) == len(self._starts):
            n_inputs = len(order)
            values = self._pool[start:].as_strided((n_inputs, self._stride), (self._step, 1))
            torch.mul(values, scale, out=self._memory.view(n_inputs, self._stride))
            self._starts = [start + index * self._step for index in range(n_inputs)]
            self._scales = [scale] * n_inputs
            return
        for index in order:
            self._starts[index], self._scales[index] = start + index * self._step, scale
            for piece, values in self._pieces(index):
                torch.mul(values, scale, out=piece)

    def read(self, order: list[int]) -> None:
        """Read the inputs numbered in `order`."""
        for index in order:
            begin = index * self._stride
            self._memory[begin : begin + self._numel].sum()

    def contents(self, index: int) -> torch.Tensor:
        """Return what input `index` holds."""
        begin = index * self._stride
        return self._memory[begin : begin + self._numel].view(self._shape)

    def holds(self, index: int) -> bool:
        """Return whether input `index` still holds what it was filled with."""
        scale = self._scales[index]
        return all(torch.equal(piece, values * scale) for piece, values in self._pieces(index))

    def repaired(self) -> str | None:
        """Give every input its class and memory back, and whether it requires gradients; return what differed."""
        requires_otherwise = self._gradients.repaired()
        if self._as_they_are() == self._as_taken:
            return "it changed whether an input requires gradients" if requires_otherwise else None
        for each, memory in zip(self.inputs, self._taken, strict=True):
            each.__class__ = torch.Tensor
            each.data = memory
        return "it changed an input's class or memory"

    def _as_they_are(self) -> list[tuple[type, int, torch.Size, tuple[int, ...]]]:
        return [(type(each), each.data_ptr(), each.shape, each.stride()) for each in self.inputs]

    def _pieces(self, index: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yield the memory of input `index` by pieces, each with what it is filled with."""
        begin, start = index * self._stride, self._starts[index] % len(self._pool)
        end = begin + self._numel
        while begin < end:
            values = self._pool[start : start + end - begin]
            yield self._memory[begin : begin + len(values)], values
            begin, start = begin + len(values), 0

    def _input(self, index: int, like: torch.Tensor) -> torch.Tensor:
        # No view: a view shares its base's version, and a compiler may treat it differently.
        made = torch.empty(0, dtype=like.dtype, device=like.device)
        made.set_(self._memory.untyped_storage(), index * self._stride, self._shape, like.stride())
        return made.requires_grad_(like.requires_grad)
