"""Functions that run while a block's code is read: those that were not read themselves may do, or ask, anything.

An operator, a comparison, a branch or an attribute may run code that nothing names: `settings["scale"]` runs
`__getitem__`. What torch's own functions run in turn is theirs.
"""

from __future__ import annotations

import gc
import inspect
import re
import sys
import sysconfig
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import get_testing_overrides

from fused_mlp.models.reading.contents import ATOMS, CONTAINERS, module_of
from fused_mlp.models.reading.methods import UNSEEN, name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import CodeType, FrameType

    from fused_mlp.models.reading.stand_ins import StandInTracer

_TORCH = str(Path(torch.__file__).parent)
_OURS = str(Path(__file__).parents[2])
_LIBRARY = sysconfig.get_path("stdlib")
_IN_LIBRARY = {f"{_LIBRARY}/{name}.py" for name in ("abc", "enum", "types", "typing", "functools", "_collections_abc")}
_HARMLESS = {*_IN_LIBRARY, "<frozen abc>", "<frozen _collections_abc>"}
"""Of Python's library: what isinstance, enumerations and annotations run, which itself keeps nothing."""
_PARAMETERS = inspect.Signature.parameters.fget.__code__  # type: ignore[attr-defined]
_OF_TORCH = tuple(
    f"{_TORCH}/{name}"
    for name in (
        "_VF.py",
        "_jit_internal.py",
        "_tensor.py",
        "autograd/function.py",  # refused by the tracer, with a reason of its own, as are the next two
        "autograd/grad_mode.py",
        "utils/checkpoint.py",
        "functional.py",
        "fx/",
        "nn/functional.py",
        "nn/modules/",
        "overrides.py",
    )
)
_GOING_OVER = {
    getattr(torch.nn.Module, name).__code__
    for name in ("buffers", "modules", "named_buffers", "named_modules", "named_parameters", "parameters", "state_dict")
}
_C_MODULES = {"_abc", "_functools", "_operator", "_typing", "builtins", "cmath", "math"}
_C_OWNERS = (*ATOMS, *CONTAINERS, range, slice, re.Pattern, re.Match, torch.dtype, torch.device, torch.Tensor)
_ASKED_OF_TORCH = {
    "finfo",
    "get_autocast_dtype",
    "iinfo",
    "is_autocast_cpu_enabled",
    "is_autocast_enabled",
    "is_floating_point",
    "is_grad_enabled",
    "is_inference_mode_enabled",
    "is_scripting",
    "is_tensor",
    "set_grad_enabled",
}
"""What a block is read with both answers to, or compares at each call."""


@contextmanager
def watching_calls(tracer: StandInTracer, root: CodeType, known: Iterable[CodeType]) -> Iterator[None]:
    """Let the tracer refuse what runs in this thread, from `root` on, that is neither `known` nor harmless.

    Before, the tracer looks at the block's attributes, of which a stranger's may have look-ups of its own.
    """
    refuse = tracer.refuse
    before = sys.getprofile()
    if before is not None and not isinstance(before, FunctionType):
        # One of C's, which could not be put back.
        refuse("a profiler is on, so that what its forward runs cannot be seen")
    codes = frozenset({root, *known})
    has_begun = False

    def watch(frame: FrameType, event: str, value: Any) -> None:
        nonlocal has_begun
        has_begun = has_begun or (event == "call" and frame.f_code is root)
        if not has_begun:
            return
        tracer.follow_c(frame, event, value)
        reason = _why_not(frame, event, value, codes)
        if reason is not None:
            refuse(f"its forward {reason}")

    # Whoever is told of a collection is none of the forward's.
    is_collecting = gc.isenabled()
    gc.disable()
    sys.setprofile(watch)
    try:
        yield
    finally:
        sys.setprofile(before)
        if is_collecting:
            gc.enable()


def _why_not(frame: FrameType, event: str, value: Any, codes: frozenset[CodeType]) -> str | None:
    if event == "call" and frame.f_code not in codes:
        is_called_by_known = frame.f_back is not None and frame.f_back.f_code in codes
        if is_called_by_known and _is_of_a_signature(frame, codes):
            return None
        return _why_not_python(frame.f_code, is_called_by_known=is_called_by_known)
    return _why_not_c(value) if event == "c_call" and frame.f_code in codes else None


def _is_of_a_signature(frame: FrameType, codes: frozenset[CodeType]) -> bool:
    """Return whether a function is asked for its arguments, and has been read: then they are compared at each call."""
    if frame.f_code is _PARAMETERS:
        return True
    if frame.f_code is not inspect.signature.__code__:
        return False
    asked = frame.f_locals["obj"]
    function = asked.__func__ if type(asked) is MethodType else asked
    return type(function) is FunctionType and function.__code__ in codes


def _why_not_python(code: CodeType, *, is_called_by_known: bool) -> str | None:
    file, name = code.co_filename, code.co_qualname
    if file.startswith(_OURS):
        return None
    if code in _GOING_OVER and is_called_by_known:
        return f"asks for {code.co_name}, which may become others"
    if file.startswith(_TORCH):
        known = file.startswith(_OF_TORCH) or code.co_name in _ASKED_OF_TORCH or code in _overridable()[1]
        return None if known or not is_called_by_known else f"asks or tells torch something: {name}"
    if file == "<string>" and not is_called_by_known:  # how the library makes named tuples
        return None
    is_of_library = file.startswith((f"{_LIBRARY}/", "<frozen ")) and "site-packages" not in file
    if is_of_library and (file in _HARMLESS or not is_called_by_known):
        return None
    return f"runs {name_of(code)}, of which no graph tells anything"


def _why_not_c(function: Any) -> str | None:
    owner, name = getattr(function, "__self__", None), function.__name__
    if isinstance(owner, ModuleType | type) or owner is None:
        home = owner.__name__ if isinstance(owner, ModuleType) else module_of(function if owner is None else owner)
        if home.partition(".")[0] == "torch":
            is_known = function in _overridable()[0] or name in _ASKED_OF_TORCH
            return None if is_known else f"asks or tells torch something: {name}"
        is_known = home in _C_MODULES or home.partition(".")[0] == "numpy"
        return None if is_known and name not in UNSEEN else f"calls {name} of {home}"
    if isinstance(owner, _C_OWNERS) or module_of(type(owner)).partition(".")[0] == "numpy":
        return None
    return f"calls {name} of a {type(owner).__name__}"


@cache
def _overridable() -> tuple[frozenset[Any], frozenset[CodeType]]:
    """Return the functions of torch that a stand-in is asked about when it is given to them, and their codes."""
    functions = frozenset(get_testing_overrides())
    return functions, frozenset(each.__code__ for each in functions if isinstance(each, FunctionType))
