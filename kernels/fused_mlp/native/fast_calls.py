"""Fast path from a Python call to the ops, without torch.ops' parsing of arguments by schema.

Compiled beside the CPU kernels (host/calls.cpp) and in use once they are. Until then, without Python's headers, and
for arguments or modes it was not made for, each function here returns NotImplemented, and the caller goes the long
way, which computes the same and words the errors.
"""

from __future__ import annotations

from importlib.machinery import ExtensionFileLoader, ModuleSpec
from importlib.util import module_from_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EXTENSION = "fused_mlp_calls"


def _not_compiled(*_: Any) -> Any:
    return NotImplemented


linear: Callable[..., Any] = _not_compiled
"""(x, w, b, activation, recompute) → the result."""
mlp: Callable[..., Any] = _not_compiled
"""(x, w1, b1, w2, b2, activation, recompute) → the result."""
gated_mlp: Callable[..., Any] = _not_compiled
"""(x, w_gate, w_up, w_down, activation, recompute) → the result."""
call_module: Callable[..., Any] = _not_compiled
"""(operation, module, x) → what the module's forward returns, by its packed weights where they may be used."""
pack: Callable[..., Any] = _not_compiled
"""(weights, their packed copies, whether oneDNN packed them) → a handle of both for call_module."""
drive: Callable[..., Any] = _not_compiled
"""(cuLaunchKernel, cuStreamIsCapturing, cuCtxGetCurrent, type of device, device index → stream) → None: how calls on
a GPU are launched by recipes from now on; the driver's functions by their addresses."""
absent_gpu: Callable[..., Any] = _not_compiled
"""() → the first three arguments of `drive` for a driver that starts nothing."""
remember: Callable[..., Any] = _not_compiled
"""(operation, its arguments, level, function, grid, threads, shared bytes, elements of scratch, parameters, hooks) →
whether calls of the same sizes are launched by this recipe from now on."""
forget: Callable[..., Any] = _not_compiled
"""() → None: no call has a recipe any longer."""
was_wanted: Callable[..., Any] = _not_compiled
"""() → whether the last call that came this way had no recipe but may have one; asked once."""
count_by_recipe: Callable[..., Any] = _not_compiled
"""() → how many calls of this process were launched by a recipe."""
_FUNCTIONS = (
    *("linear", "mlp", "gated_mlp", "call_module", "pack"),
    *("drive", "absent_gpu", "remember", "forget", "was_wanted", "count_by_recipe"),
)


def use(library: Path) -> None:
    """Let every call from now on go by the compiled `library`. Raises: ImportError if it does not load."""
    loader = ExtensionFileLoader(EXTENSION, str(library))
    compiled = module_from_spec(ModuleSpec(EXTENSION, loader, origin=str(library)))
    loader.exec_module(compiled)
    for name in _FUNCTIONS:
        globals()[name] = getattr(compiled, name)
