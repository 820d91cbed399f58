"""The eager module that all contenders share: found again as it was, with its submodules, or not."""

from __future__ import annotations

from itertools import chain
from operator import is_
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch

_PARTS = ("_parameters", "_buffers", "_modules")
_COMPILED = "_compiled_call_impl"


class SharedModules:
    """A module and its submodules, as they were: their classes, all they hold, and the dicts these are in."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._modules = list(module.modules())
        self._taken = [_TakenModule(each) for each in self._modules]
        self._dicts = [each for taken in self._taken for each in taken.dicts]
        self._note()

    def repaired(self) -> str | None:
        """Put back what was changed; return what it was, in words, or None."""
        # By identity: an equal object may be a slow one, and may say of itself what it likes.
        if list(map(len, self._dicts)) == self._lengths and all(map(is_, self._found(), self._noted)):
            return None
        said = [each for taken in self._taken if (each := taken.repaired())]
        # What is harmless stays, and costs no second look.
        self._note()
        return said[0] if said else None

    def _note(self) -> None:
        self._lengths = list(map(len, self._dicts))
        self._full = [each for each in self._dicts if each]
        self._noted = list(self._found())

    def _found(self) -> Iterator[object]:
        """Return the modules' classes and dicts, and all keys and values of those that are not empty."""
        full = self._full
        return chain(
            map(type, self._modules),
            map(vars, self._modules),
            chain.from_iterable(full),
            chain.from_iterable(map(dict.values, full)),
        )


class _TakenModule:
    """One module: its class, the dict of its attributes, these, and what the dicts among them hold."""

    def __init__(self, module: torch.nn.Module) -> None:
        self._module = module
        self._class = type(module)
        self._space = vars(module)
        # Whether it trains changes nothing here, and exporters set it.
        self._values = {name: value for name, value in self._space.items() if name != "training"}
        self._contents = {name: dict(value) for name, value in self._values.items() if isinstance(value, dict)}
        self._of_parts = {name for part in _PARTS for name in self._contents[part]}

    @property
    def dicts(self) -> list[dict[object, object]]:
        """That of the attributes first."""
        return [self._space, *(self._values[name] for name in self._contents)]

    def repaired(self) -> str | None:
        """Put back what was changed; return what it was, in words, or None."""
        hooked, changed = "forward" in self._space, list[str]()
        if type(self._module) is not self._class:
            # Not by its own `__setattr__`, which may do anything.
            object.__setattr__(self._module, "__class__", self._class)
            changed.append("its class")
        if vars(self._module) is not self._space:
            object.__setattr__(self._module, "__dict__", self._space)
            changed.append("its dict")
        for name in [each for each in self._space if self._is_harmful(each)]:
            del self._space[name]
            changed.append(name)
        for name, value in self._values.items():
            if name not in self._space or self._space[name] is not value:
                self._space[name] = value
                changed.append(name)
        for name, contents in self._contents.items():
            if _identities(now := self._values[name]) != _identities(contents):
                now.clear()
                now.update(contents)
                hooked |= name.endswith("_hooks") and "state_dict" not in name
                changed.append(name.strip("_"))
        if hooked:
            return "it hooked into the eager module's call"
        if _COMPILED in changed:
            return (
                "it changed the eager module: module.compile() compiles it for everybody who shares it; "
                "torch.compile(module) leaves it as it is"
            )
        return f"it changed the eager module: {changed[0]}" if changed else None

    def _is_harmful(self, name: str) -> bool:
        """Return whether an attribute that was not there takes the place of one that is looked up.

        The others stay: PyTorch's compilers leave marks of their own on a module they read.
        """
        if name in self._values or name == "training":
            return type(name) is not str
        return type(name) is not str or name in self._of_parts or hasattr(self._class, name)


def _identities(contents: dict[str, object]) -> list[tuple[int, int]]:
    return [(id(name), id(value)) for name, value in contents.items()]
