"""Somebody's file with a function that builds a module and its inputs, imported as Python imports a script."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from benchmarks.ruler.errors import InvalidSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_WANTED = "it is to return a module and its inputs, as in `return model, (torch.randn(8, 128, 768),)`"


@dataclass(frozen=True, kw_only=True)
class BuiltModule:
    """Module, and the arguments of one forward by place and by name."""

    module: torch.nn.Module
    inputs: tuple[Any, ...]
    options: Mapping[str, Any]


def module_and_inputs(text: str) -> BuiltModule:
    """Return what `FILE.py:FUNCTION` gives: a module, and the inputs of one forward as a value, a tuple or a dict.

    Raises: InvalidSettings that says what the function has to return, or what it raised and where.
    """
    file, _, name = text.rpartition(":")
    path = Path(file)
    if not file and Path(name).is_file():
        raise InvalidSettings(f"--module {text}: which function of it builds the module? Write {text}:FUNCTION")
    if not path.is_file():
        raise InvalidSettings(f"--module {text}: there is no file {file or text}; write FILE.py:FUNCTION")
    build = _function(text, path, name)
    try:
        built = build()
    except (Exception, SystemExit) as error:
        raise InvalidSettings(f"--module {text}: {name}() raised {_told(error, path)}") from error
    if isinstance(built, tuple) and len(built) == 2 and isinstance(built[0], torch.nn.Module):
        module, given = built
        if isinstance(given, dict):
            return BuiltModule(module=module, inputs=(), options=given)
        return BuiltModule(module=module, inputs=given if isinstance(given, tuple) else (given,), options={})
    what = "a module alone" if isinstance(built, torch.nn.Module) else type(built).__name__
    raise InvalidSettings(f"--module {text}: {name}() returned {what}; {_WANTED}")


def _function(text: str, path: Path, name: str) -> Callable[[], object]:
    # As for a script, what lies beside it can be imported.
    sys.path.insert(0, str(path.resolve().parent))
    own = f"_advised_{path.stem}"
    spec = importlib.util.spec_from_file_location(own, path)
    if spec is None or spec.loader is None:
        raise InvalidSettings(f"--module {text}: {path} is no Python file; write FILE.py:FUNCTION")
    sys.modules[own] = imported = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(imported)
    except (Exception, SystemExit) as error:
        raise InvalidSettings(f"--module {text}: importing {path} raised {_told(error, path)}") from error
    found = getattr(imported, name, None)
    if isinstance(found, torch.nn.Module):
        raise InvalidSettings(f"--module {text}: {name} is a module, and a function is wanted; {_WANTED}")
    if not callable(found):
        known = [key for key, value in vars(imported).items() if inspect.isfunction(value) and value.__module__ == own]
        there = f"; it has {', '.join(known)}" if known else ""
        raise InvalidSettings(f"--module {text}: {path} has no function {name}{there}")
    needed = _arguments_without_default(found)
    if needed:
        raise InvalidSettings(
            f"--module {text}: {name} needs {', '.join(needed)}, and is called without arguments; "
            "write a function that fills them in"
        )
    return found  # type: ignore[no-any-return] # callable, as just seen


def _arguments_without_default(function: Callable[..., object]) -> list[str]:
    try:
        arguments = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []  # one that is not written in Python
    variadic = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    return [each.name for each in arguments if each.default is each.empty and each.kind not in variadic]


def _told(error: BaseException, path: Path) -> str:
    """Return an error in words, with the line of the person's own file that it came from."""
    own = path.resolve()
    lines = [each.lineno for each in traceback.extract_tb(error.__traceback__) if Path(each.filename).resolve() == own]
    said = type(error).__name__ + (f": {error}" if str(error) else "")
    # A SyntaxError names its line itself.
    return f"{said} (line {lines[-1]})" if lines else said
