"""Settings of torch.compile, which are the whole process's: each contender's own hold for itself alone."""

from __future__ import annotations

import sys
import warnings
from contextlib import contextmanager
from copy import deepcopy
from functools import cache
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Looked up, never imported: that takes seconds, and who has not imported them has set nothing there.
_CONFIGS = ("torch._inductor.config", "torch._dynamo.config", "torch._functorch.config")
_STANCE = ("torch._dynamo.eval_frame", "_stance")

# By module and name.
_Settings = dict[tuple[str, str], Any]
_when_loaded: dict[str, _Settings] = {}


@contextmanager
def made_when_loaded(source: str) -> Iterator[None]:
    """Put in force what was set when `source`, a file or package, was loaded before; learn what is set now.

    A module that `source` imports runs once a process, but its settings are meant for each provider of `source`.
    """
    before = {key: _kept(value) for key, value in _read(_names(set())).items()}
    own = _when_loaded.setdefault(source, {})
    _write(own)
    yield
    own |= {key: value for key, value in _read(before).items() if value != before[key]}


class CompilerSettings:
    """The process's settings of torch.compile, and those that each of its users made, which hold in its turns only.

    A user that sets one is not blamed for it: settings are there to be set.
    """

    def __init__(self) -> None:
        self._before: _Settings = {}
        self._own: dict[str, _Settings] = {}
        self._in_force: _Settings = {}

    @contextmanager
    def built_by(self, user: str) -> Iterator[None]:
        """Put the user's settings in force; learn those that it makes meanwhile, and put the process's back."""
        self._note()
        self.take_turn(user)
        try:
            yield
        finally:
            self._own[user] = self._put_back()

    def take_turn(self, user: str) -> None:
        """Put in force what `user` set when it was built, in place of what the user before it did."""
        own = self._own.get(user, {})
        # Nearly always neither of the two has settings of its own, and this runs between samples.
        if own or self._in_force:
            _write({key: self._value_before(key) for key in self._in_force if key not in own} | own)
            self._in_force = own

    def restore(self) -> None:
        """Put back the process's settings: those found at the first time, of each module once it is imported."""
        self._note()
        self._put_back()

    def _put_back(self) -> _Settings:
        """Put back what was set since; return it."""
        made = {key: value for key, value in _read(self._before).items() if value != self._before[key]}
        _write({key: self._value_before(key) for key in made})
        self._in_force = {}
        return made

    def _note(self) -> None:
        known = {module for module, _ in self._before}
        read = _read(_names(known))
        self._before |= {key: _kept(value) for key, value in read.items()}

    def _value_before(self, key: tuple[str, str]) -> object:
        return _kept(self._before[key])


def _names(known: set[str]) -> list[tuple[str, str]]:
    """Return all settings of modules that are imported, but not `known`."""
    modules = [name for name in _CONFIGS if name in sys.modules and name not in known]
    names = [(module, name) for module in modules for name in _names_in(module)]
    return [*names, _STANCE] if _STANCE[0] in sys.modules and _STANCE[0] not in known else names


@cache
def _names_in(module: str) -> tuple[str, ...]:
    # Once, before somebody puts there what cannot be copied.
    return tuple(sys.modules[module].get_config_copy())


def _read(keys: Mapping[tuple[str, str], object] | list[tuple[str, str]]) -> _Settings:
    # One by one, for the same reason: a pass of somebody's own need not be copyable.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of settings that are to be removed
        return {(module, name): getattr(sys.modules[module], name) for module, name in keys}


def _write(settings: _Settings) -> None:
    if not settings:
        return
    changed: dict[str, dict[str, Any]] = {}
    for (module, name), value in settings.items():
        changed.setdefault(module, {})[name] = value
    stance = changed.pop(_STANCE[0], None)
    if stance is not None:
        chosen = stance[_STANCE[1]]
        torch.compiler.set_stance(
            chosen.stance, skip_guard_eval_unsafe=chosen.skip_guard_eval_unsafe, force_backend=chosen.backend
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of settings that are to be removed
        for module, values in changed.items():
            sys.modules[module].load_config(values)


def _kept(value: object) -> object:
    """Return what a change in place does not reach."""
    return deepcopy(value) if isinstance(value, list | dict | set) else value
