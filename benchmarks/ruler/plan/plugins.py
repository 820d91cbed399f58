"""Providers from outside this repository, by name: an entry point of the group `fusebench.providers`, or a file.

Only names are read here, so that asv's discovery imports no torch; `providers` imports what is behind them.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from benchmarks.ruler.errors import InvalidAxes, InvalidProviderModule
from benchmarks.ruler.plan.points import contender_from_name
from benchmarks.ruler.plan.printable import printable

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

ENTRY_POINT_GROUP = "fusebench.providers"
EXPECTED_COUNTS = frozenset({"operators", "launches"})
# What lists of names and layouts of weights are written with.
_NOT_IN_NAMES = re.compile(r"[:,\s]")
# A module may sleep or loop; PR_SET_PDEATHSIG (1) ends it with the run that tries it.
_RUN_ONCE = (
    "import ctypes, os, runpy, sys; ctypes.CDLL(None).prctl(1, 9); "
    "sys.path.append(os.path.dirname(os.path.abspath(sys.argv[1]))); runpy.run_path(sys.argv[1])"
)


def foreign_names(module: Path | None) -> tuple[str, ...]:
    """Return the names of all providers from outside: of installed entry points, then of the provider module.

    Raises: InvalidProviderModule.
    """
    installed = sorted(point.name for point in entry_points(group=ENTRY_POINT_GROUP))
    return (*installed, *(names_in_module(module) if module else ()))


def refuse_taken_names(module: Path, taken: Collection[str]) -> None:
    """Refuse names of providers that are measured whatever a module says of them. Raises: InvalidProviderModule."""
    for name in names_in_module(module):
        if name in taken:
            raise InvalidProviderModule(
                f"{module}: {name!r} is a provider of fusebench, measured in place of the module's; choose another name"
            )


def refuse_broken_module(module: Path) -> None:
    """Run the provider module once, in a process of its own, so that a broken one is not measured as failing points.

    Raises: InvalidProviderModule, with what the module raised.
    """
    expectations_in_module(module)
    names_in_module(module)
    command = [sys.executable, "-c", _RUN_ONCE, str(module)]
    tried = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if tried.returncode != 0:
        raised = tried.stderr.strip().splitlines() or [f"exit status {tried.returncode}"]
        raise InvalidProviderModule(f"{module}: fails when it is run ({printable(raised[-1])})")


def names_in_module(path: Path) -> tuple[str, ...]:
    """Return the keys of the dict that `path` assigns to PROVIDERS at its top level, without running the file.

    Raises: InvalidProviderModule.
    """
    assigned = _assigned(path, "PROVIDERS")
    if isinstance(assigned, ast.Dict):
        names = [key.value if isinstance(key, ast.Constant) else None for key in assigned.keys]
        for name in names:
            if isinstance(name, str) and _NOT_IN_NAMES.search(name):
                raise InvalidProviderModule(
                    f"{path}: {name!r} in PROVIDERS holds a colon, a comma or a space, and could not be asked for"
                )
        if names and all(isinstance(name, str) and name for name in names):
            return tuple(dict.fromkeys(map(str, names)))
    raise InvalidProviderModule(
        f'{path}: holds no PROVIDERS = {{"name": build, ...}} at its top level, with names written out'
    )


def expectations_in_module(path: Path | None) -> dict[str, str | dict[str, int]]:
    """Return what `path` assigns to EXPECTATIONS at its top level, without running the file; empty if nothing.

    Each of its providers may declare the contender that it runs as, or its counts of operators and launches.
    Raises: InvalidProviderModule.
    """
    assigned = _assigned(path, "EXPECTATIONS") if path else None
    if path is None or assigned is None:
        return {}
    try:
        declared = ast.literal_eval(assigned)
    except ValueError:
        declared = None
    names = names_in_module(path)
    if not isinstance(declared, dict) or not all(
        name in names and (_is_contender(what) or _is_counts(what)) for name, what in declared.items()
    ):
        counts = ", ".join(f'"{each}": 3' for each in sorted(EXPECTED_COUNTS))
        raise InvalidProviderModule(
            f'{path}: EXPECTATIONS is no {{"name": "eager", ...}} that says of its own providers what each runs as, '
            f"or {{{counts}}}; it has to be written out"
        )
    return declared


def _is_contender(what: object) -> bool:
    try:
        return isinstance(what, str) and bool(contender_from_name(what))
    except InvalidAxes:
        return False


def _is_counts(what: object) -> bool:
    return (
        isinstance(what, dict)
        and bool(what)
        and set(what) <= EXPECTED_COUNTS
        and all(type(count) is int and count >= 0 for count in what.values())
    )


def _assigned(path: Path, name: str) -> ast.expr | None:
    """Return what `path` assigns to `name` at its top level. Raises: InvalidProviderModule."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    except OSError as error:
        raise InvalidProviderModule(f"{path}: {error.strerror}; name a Python file with PROVIDERS") from error
    except (UnicodeDecodeError, SyntaxError) as error:
        raise InvalidProviderModule(f"{path}: cannot be read as Python ({error})") from error
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=targets, value=value):
                pass
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                targets = [target]
            case _:
                continue
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return value
    return None
