"""Modules of a model: where they are, in which order they are looked at, and which a caller chooses."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from torch import nn

from fused_mlp.errors import InvalidArgument

Selection = Iterable[str | type[nn.Module]]


def children_first(model: nn.Module) -> list[nn.Module]:
    """Return all modules, each behind all that it holds: also what several of them share."""
    found: dict[nn.Module, None] = {}

    def visit(module: nn.Module) -> None:
        for child in module.children():
            if child not in found:
                visit(child)
        found[module] = None

    visit(model)
    return list(found)


def paths_in(model: nn.Module) -> dict[nn.Module, list[str]]:
    """Return each module's paths in the model, in the model's order."""
    paths: dict[nn.Module, list[str]] = {}
    for path, module in model.named_modules(remove_duplicate=False):
        paths.setdefault(module, []).append(path)
    return paths


def chosen_modules(model: nn.Module, include: Selection | None, exclude: Selection) -> set[nn.Module]:
    """Return the modules that match `include`, all without one, and not `exclude`. Raises: InvalidArgument."""
    included = None if include is None else _selected(model, include, "include")
    excluded = _selected(model, exclude, "exclude")
    return {module for module in model.modules() if (included is None or module in included) and module not in excluded}


def _selected(model: nn.Module, selection: Selection, argument: str) -> set[nn.Module]:
    if isinstance(selection, str | type):
        selection = (selection,)
    selected: set[nn.Module] = set()
    for each in selection:
        if not isinstance(each, str | type):
            raise InvalidArgument(argument, got=repr(each), expected="paths, patterns or classes")
        matching = {
            module
            for path, module in model.named_modules(remove_duplicate=False)
            if (fnmatchcase(path, each) if isinstance(each, str) else isinstance(module, each))
        }
        if not matching:
            raise InvalidArgument(
                argument, got=f"{each!r}, which matches no module", expected="a path, pattern or class"
            )
        selected |= matching
    return selected
