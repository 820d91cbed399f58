"""Kernels that inductor has generated for the CPU, made visible to the profiler without compiling them again.

With `cpp.enable_kernel_profile` inductor writes other sources, which take seconds to compile and were never timed.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

_PREFIX = "cpp_"
_with_inputs: ContextVar[bool] = ContextVar("with_inputs", default=False)


@contextmanager
def generated_kernels_announced() -> Iterator[None]:
    """Have every generated kernel of this process tell the profiler its name when it runs, until the block is left."""
    from torch._inductor.codecache import PyCodeCache  # noqa: PLC0415 - importing inductor takes a second

    found = [(module, name, kernel) for module in PyCodeCache.modules for name, kernel in _kernels(module)]
    try:
        for module, name, kernel in found:
            setattr(module, name, _announced(name, kernel))
        yield
    finally:
        for module, name, kernel in found:
            setattr(module, name, kernel)


@contextmanager
def inputs_announced() -> Iterator[None]:
    """Have kernels that are announced tell the profiler their arguments, too, which costs more than a small kernel."""
    token = _with_inputs.set(True)
    try:
        yield
    finally:
        _with_inputs.reset(token)


@contextmanager
def kernels_that_announce_themselves() -> Iterator[None]:
    """Compile what announces itself, where the generated code holds kernels that cannot be told from outside.

    That is so with inductor's wrapper in C++; elsewhere nothing is compiled otherwise than what was timed.
    """
    from torch._inductor import config  # noqa: PLC0415 - importing inductor takes a second

    if not config.cpp_wrapper:
        yield
        return
    with config.patch({"cpp.enable_kernel_profile": True}):
        yield


def _kernels(module: ModuleType) -> list[tuple[str, Callable[..., Any]]]:
    # The module's own function `call` looks its kernels up by these names at every call.
    return [(name, value) for name, value in vars(module).items() if name.startswith(_PREFIX) and callable(value)]


def _announced(name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
    make = torch._C._profiler._RecordFunctionFast  # noqa: SLF001 - record_function costs more than a small kernel
    record = make(name)

    def call(*arguments: Any) -> Any:  # noqa: ANN401 - whatever inductor passes
        with make(name, list(arguments)) if _with_inputs.get() else record:
            return kernel(*arguments)

    return call
