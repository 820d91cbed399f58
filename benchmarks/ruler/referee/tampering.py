"""The instrument's own means, taken before a provider is loaded, and found again as they were, or not."""

from __future__ import annotations

import builtins
import gc
import math
import random
import secrets
import sys
import time
from operator import attrgetter, getitem
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import torch

from benchmarks.ruler.referee.process_settings import BLAMELESS, SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Modules of ours that run between a sample's start and its record; each look costs every sample a little.
_OURS = (
    *("benchmarks.ruler.measure.attempt", "benchmarks.ruler.measure.clock", "benchmarks.ruler.measure.timing"),
    *(
        "benchmarks.ruler.measure.counters",
        "benchmarks.ruler.measure.disturbances",
        "benchmarks.ruler.measure.kept_chunks",
    ),
    *("benchmarks.ruler.measure.policy", "benchmarks.ruler.measure.probe", "benchmarks.ruler.measure.statistics"),
    "benchmarks.ruler.referee.",
    "benchmarks.ruler.providers.compiler_settings",
    "benchmarks.ruler.providers.workload",
    "benchmarks.ruler.record.codec",
    *("benchmarks.ruler.worker.outcomes", "benchmarks.ruler.worker.tasks"),
)
# What a module's call is looked up by; a class that lacks one inherits it, until somebody puts it there.
_LOOK_UP = ("__getattr__", "__getattribute__")
_OF_A_CALL = ("__call__", "_call_impl", "_wrapped_call_impl", *_LOOK_UP)
# What times and results go through, and eager with them.
_OWNERS: tuple[tuple[str, object, tuple[str, ...]], ...] = (
    ("time", time, ("perf_counter", "perf_counter_ns", "monotonic", "time", "process_time", "sleep")),
    ("gc", gc, ("collect", "disable", "enable", "isenabled")),
    # Tolerances go through these, and what nobody may know beforehand.
    ("math", math, ("ceil", "isfinite", "isnan", "sqrt")),
    ("random.Random", random.Random, ("choice", "randint", "random", "randrange", "sample", "uniform")),
    ("random.Random", random.Random, ("_randbelow", "getrandbits")),
    ("secrets", secrets, ("randbits",)),
    ("torch.autograd", torch.autograd, ("grad", "backward", "_engine_run_backward")),
    ("torch.linalg", torch.linalg, ("vector_norm",)),
    ("torch.cuda", torch.cuda, ("synchronize", "Event", "current_stream", "_sleep", "CUDAGraph")),
    ("torch.cuda.Event", torch.cuda.Event, ("record", "query", "elapsed_time", "synchronize")),
    (
        "torch",
        torch,
        ("equal", "empty", "zeros", "randn", "tensor", "mm", "addmm", "matmul", "inference_mode", "no_grad", "relu"),
    ),
    ("torch", torch, ("Generator", "mul", "randint", "stack")),
    (
        "torch.Tensor",
        torch.Tensor,
        (
            *("__add__", "__sub__", "__mul__", "__matmul__", "__truediv__", "__getitem__", "__float__"),
            "__torch_function__",
            *("add_", "clone", "copy_", "detach", "double", "index_select", "numel", "requires_grad_", "set_", "to"),
            *("as_strided", "long", "reshape", "split", "sum", "view"),
            *("data", "data_ptr", "shape", "dtype", "grad_fn", "_version", "untyped_storage"),
        ),
    ),
    ("torch.nn.Module", torch.nn.Module, (*_OF_A_CALL, "parameters")),
    ("torch.nn.Linear", torch.nn.Linear, ("forward", *_OF_A_CALL)),
    ("torch.nn.Parameter", torch.nn.Parameter, ("__torch_function__", *_LOOK_UP)),
    ("torch.nn.modules.linear", torch.nn.modules.linear, ("F",)),
    ("torch.nn.functional", torch.nn.functional, ("linear", "relu", "gelu", "silu", "has_torch_function_unary")),
    ("torch._C", torch._C, ("_get_tracing_state",)),  # noqa: SLF001 - what each module's call asks
    (
        "builtins",
        builtins,
        ("all", "any", "callable", "float", "getattr", "int", "isinstance", "len", "list", "map", "max", "min", "next"),
    ),
    ("builtins", builtins, ("range", "reversed", "round", "sorted", "sum", "tuple", "type", "vars", "zip")),
)  # fmt: skip
# What limits are: a module's own numbers and names.
_CONSTANTS = (bool, int, float, str, tuple, frozenset)
# Hooks that torch runs at every module's call.
_HOOKS = ("_global_forward_hooks", "_global_forward_pre_hooks", "_global_backward_hooks", "_global_backward_pre_hooks")


_code = attrgetter("__code__")
_bases = attrgetter("__bases__")


def _defaults(function: FunctionType) -> tuple[tuple[Any, ...] | None, dict[str, Any] | None]:
    # In place of its dict a copy, which nobody can change.
    return function.__defaults__, function.__kwdefaults__ and dict(function.__kwdefaults__)


class Instrument:
    """What was taken: functions, classes and modules that measuring goes through, and settings of the process."""

    def __init__(self) -> None:
        _register_what_vmap_does()
        taken = [(where, owner, name) for where, owner, names in _owners() for name in names]
        # One that is not there is inherited; to replace it is to put it there.
        self._absent = [each for each in taken if each[2] not in _space(each[1])]
        self._taken = [each for each in taken if each[2] in _space(each[1])]
        # Looked up in one pass, and compared by identity: equal items of lists are the same or ask their type.
        self._names = [name for _, _, name in self._taken]
        self._spaces = [_space(owner) for _, owner, _ in self._taken]
        self._values = list(map(getitem, self._spaces, self._names))
        self._functions = list({id(value): value for value in self._values if isinstance(value, FunctionType)}.values())
        self._codes = list(map(_code, self._functions))
        self._with_defaults = [each for each in self._functions if each.__defaults__ or each.__kwdefaults__]
        self._defaults = list(map(_defaults, self._with_defaults))
        self._modules = [module for name, module in sys.modules.items() if name.startswith(_OURS)]
        self._sizes = [len(vars(each)) for each in self._modules]
        self._known_names = {(each.__name__, name) for each in self._modules for name in vars(each)}
        self._classes = [*dict.fromkeys(owner for _, owner, _ in taken if isinstance(owner, type))]
        self._bases = list(map(_bases, self._classes))
        self._settings: dict[str, object] = {}
        self._overrides = set(_overrides())
        self._n_overrides = len(_overrides())
        self.note_settings()

    def note_settings(self) -> None:
        """Take the settings as they are now for the right ones."""
        self._settings = {name: read() for name, (read, _) in SETTINGS.items()}

    def repaired(self) -> str | None:
        """Put back all that was replaced or set since; return what it was, in words, the first of it, or None."""
        replaced = self._replaced()
        found = (
            replaced and f"it replaced {replaced}",
            self._without_settings(),
            self._without_overrides(),
            _without_hooks(),
        )
        return next(filter(None, found), None)

    def _without_settings(self) -> str | None:
        changed = [name for name, (read, _) in SETTINGS.items() if read() != self._settings[name]]
        if not changed:
            return None
        # One may set others: so all are set, in an order in which none undoes another.
        for name, (_, write) in SETTINGS.items():
            if name in changed or name.endswith("precision"):
                write(self._settings[name])
        named = next((name for name in changed if name != BLAMELESS), None)
        return named and f"it changed what {named} sets, for everybody"

    def _without_overrides(self) -> str | None:
        """Take back what was registered for PyTorch's own operators, unless it only says how results are laid out."""
        if len(_overrides()) == self._n_overrides:
            return None
        new = set(filter(_is_harmful, _overrides() - self._overrides))
        if new:
            for each in gc.get_objects():
                if issubclass(type(each), torch.library.Library) and not new.isdisjoint(each._op_impls):  # noqa: SLF001 - it tells no other way
                    each._destroy()  # noqa: SLF001 - what happens when it is dropped
        self._n_overrides = len(_overrides())
        return f"it overrode {min(new)}, PyTorch's own operator" if new else None

    def _replaced(self) -> str | None:
        try:
            if (
                list(map(getitem, self._spaces, self._names)) == self._values
                and list(map(_code, self._functions)) == self._codes
                and list(map(_defaults, self._with_defaults)) == self._defaults
                and list(map(_bases, self._classes)) == self._bases
                and [len(vars(each)) for each in self._modules] == self._sizes
                and not any(name in _space(owner) for _, owner, name in self._absent)
            ):
                return None
        except KeyError:
            pass  # a name was deleted
        return self._put_back()

    def _put_back(self) -> str | None:
        """Put everything back; return the first name that was not as it was, or None if none that matters was."""
        changed = self._put_defaults_back()
        for function, code in zip(self._functions, self._codes, strict=True):
            if function.__code__ is not code:
                changed.append(f"{function.__module__}.{function.__qualname__}")
                function.__code__ = code
        for (where, owner, name), value in zip(self._taken, self._values, strict=True):
            if _space(owner).get(name) is not value:
                changed.append(f"{where}.{name}")
                if isinstance(owner, dict):
                    owner[name] = value
                else:
                    setattr(owner, name, value)
        for where, owner, name in self._absent:
            if name in _space(owner):
                changed.append(f"{where}.{name}")
                delattr(owner, name)
        for cls, bases in zip(self._classes, self._bases, strict=True):
            if cls.__bases__ != bases:
                changed.append(f"{cls.__module__}.{cls.__qualname__}.__bases__")
                cls.__bases__ = bases
        return next(iter([*changed, *self._without_shadows()]), None)

    def _put_defaults_back(self) -> list[str]:
        changed = []
        for function, (defaults, of_keywords) in zip(self._with_defaults, self._defaults, strict=True):
            if _defaults(function) != (defaults, of_keywords):
                changed.append(f"{function.__module__}.{function.__qualname__}'s defaults")
                function.__defaults__, function.__kwdefaults__ = defaults, of_keywords and dict(of_keywords)
        return changed

    def _without_shadows(self) -> list[str]:
        """Delete what hides builtins in modules that have got new names; return what that was."""
        shadows = []
        for number, module in enumerate(self._modules):
            if len(vars(module)) == self._sizes[number]:
                continue
            for name in [each for each in vars(module) if not each.startswith("__") and hasattr(builtins, each)]:
                if (module.__name__, name) not in self._known_names:
                    shadows.append(f"{module.__name__}.{name}")
                    delattr(module, name)
            self._sizes[number] = len(vars(module))
        return shadows


def _space(owner: object) -> dict[str, Any]:
    return owner if isinstance(owner, dict) else vars(owner)


def _overrides() -> set[str]:
    """Return what Python code has registered for operators, as "namespace/operator/device"."""
    return torch.library._impls  # noqa: SLF001 - torch's own account of it


def _register_what_vmap_does() -> None:
    """Have PyTorch register now what it does at the first vmap, so that nobody is blamed for it."""
    vmap: Any = torch._functorch.vmap  # noqa: SLF001 - no public way
    if load := getattr(vmap, "lazy_load_decompositions", None):
        load()


def _is_harmful(override: str) -> bool:
    return override.startswith("aten/") and not override.endswith("/Meta")


def _without_hooks() -> str | None:
    everywhere = torch.nn.modules.module
    hooks = [each for name in _HOOKS if (each := getattr(everywhere, name))]
    for each in hooks:
        each.clear()
    if hooks:
        return "it hooked into every module's call"
    saving: Any = torch._C._autograd  # noqa: SLF001 - no public way
    if saving._top_saved_tensors_default_hooks(False):  # noqa: FBT003, SLF001 - positional there
        while saving._top_saved_tensors_default_hooks(False):  # noqa: FBT003, SLF001 - the same
            saving._pop_saved_tensors_default_hooks()  # noqa: SLF001 - the same
        return "it left hooks on that see every saved tensor"
    return "it left a mode on that sees every operator" if _left_modes() else None


def _left_modes() -> bool:
    """Leave every mode that sees functions or operators; return whether there was one."""
    internals: Any = torch._C  # noqa: SLF001 - no public way
    n_functions, n_operators = internals._len_torch_function_stack(), internals._len_torch_dispatch_stack()  # noqa: SLF001 - the same
    for _ in range(n_functions):
        internals._pop_torch_function_stack()  # noqa: SLF001 - the same
    # Those of torch's own, which the others are popped past.
    for kind in internals._TorchDispatchModeKey.__members__.values() if n_operators else ():  # noqa: SLF001 - the same
        internals._unset_dispatch_mode(kind)  # noqa: SLF001 - the same
    for _ in range(internals._len_torch_dispatch_stack()):  # noqa: SLF001 - the same
        internals._pop_torch_dispatch_stack(None)  # noqa: SLF001 - the same
    return bool(n_functions + n_operators)


def _owners() -> Iterator[tuple[str, object, Sequence[str]]]:
    yield from _OWNERS
    for name, module in list(sys.modules.items()):
        if name.startswith(_OURS):
            yield name, module, [key for key, value in vars(module).items() if _is_means(key, value)]
            for key, value in vars(module).items():
                if isinstance(value, dict) and not key.startswith("__"):
                    yield f"{name}.{key}", value, [each for each, item in value.items() if callable(item)]
                if isinstance(value, type) and value.__module__ == name:
                    methods = [each for each, method in vars(value).items() if isinstance(method, FunctionType)]
                    inherited = _OF_A_CALL if issubclass(value, torch.nn.Module) else ()
                    yield f"{name}.{key}", value, [*methods, *inherited]


def _is_means(name: str, value: object) -> bool:
    # torch.compile leaves its own functions, named like this, in the module whose code it compiled.
    return not name.startswith("__") and (callable(value) or isinstance(value, (ModuleType, *_CONSTANTS)))
