"""Optional parts of the installation: which of them brings a module that is missing."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterable

OURS = {"results", "dashboard", "benchmarks", "fused_mlp", "fusebench"}
# Modules that are named otherwise than the distribution they come from.
DISTRIBUTIONS = {"pynvml": "nvidia_ml_py", "_pytest": "pytest"}
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[(?P<extras>[\w,.-]+)\])?.*extra == ['\"](?P<extra>[\w-]+)['\"]")


def error_of_missing_extra(error: ImportError, *, command: str, extra: str) -> click.UsageError | None:
    """Return the error that names the pip command; None if `error` is about a module of ours.

    extra: what `command` needs, which is named unless another extra is known to bring the module.
    """
    module = _missing_module(error)
    if module in OURS:
        return None
    what = f"{module}, which is not installed" if isinstance(error, ModuleNotFoundError) else f"{module} ({error})"
    return click.UsageError(
        f"`fusebench {command}` needs {what}: pip install 'fusebench[{_extra_with(module, extra)}]'"
    )


def require_modules(modules: Iterable[str], *, command: str, extra: str) -> None:
    """Raise a UsageError that names the pip command unless all `modules` are installed."""
    missing = [module for module in modules if find_spec(module) is None]
    if missing:
        raise click.UsageError(
            f"`fusebench {command}` needs {', '.join(missing)}, not installed here: {_pip_command(extra)}"
        )


def _pip_command(extra: str) -> str:
    return f"pip install 'fusebench[{extra}]'"


def _missing_module(error: ImportError) -> str:
    """Return the top-level module that `error` is about: the one it names, else the one that raised it."""
    if error.name:
        return error.name.partition(".")[0]
    traceback, raised_in = error.__traceback__, ""
    while traceback is not None:
        raised_in, traceback = traceback.tb_frame.f_globals.get("__name__", ""), traceback.tb_next
    return str(raised_in).partition(".")[0]


def _extra_with(module: str, extra: str) -> str:
    """Return `extra` if it brings `module` or nothing is known to, else the first extra that does."""
    name = DISTRIBUTIONS.get(module, module).lower()
    brought = _distributions_by_extra()
    if name in brought.get(extra, ()):
        return extra
    return next((other for other, names in brought.items() if name in names and other != "dev"), extra)


def _distributions_by_extra() -> dict[str, set[str]]:
    """Return what each extra installs, with the extras it includes, as module names; empty where we are no wheel."""
    try:
        stated = requires("fusebench") or []
    except PackageNotFoundError:
        return {}
    found: dict[str, set[str]] = {}
    included: dict[str, list[str]] = {}
    for matched in filter(None, map(REQUIREMENT.match, stated)):
        name = re.sub(r"[-_.]+", "_", matched["name"]).lower()
        found.setdefault(matched["extra"], set())
        if name == "fusebench":
            included.setdefault(matched["extra"], []).extend((matched["extras"] or "").split(","))
        else:
            found[matched["extra"]].add(name)
    for _ in included:
        for extra, others in included.items():
            found[extra].update(*(found.get(other, set()) for other in others))
    return found
