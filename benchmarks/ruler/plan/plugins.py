"""Providers from outside this repository, by name: an entry point of the group `fusebench.providers`, or a file.

Only names are read here, so that asv's discovery imports no torch; `providers` imports what is behind them.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from benchmarks.ruler.errors import InvalidProviderModule

if TYPE_CHECKING:
    from pathlib import Path

ENTRY_POINT_GROUP = "fusebench.providers"
# A module may sleep or loop; PR_SET_PDEATHSIG (1) ends it with the run that tries it.
_RUN_ONCE = "import ctypes, runpy, sys; ctypes.CDLL(None).prctl(1, 9); runpy.run_path(sys.argv[1])"


def foreign_names(module: Path | None) -> tuple[str, ...]:
    """Return the names of all providers from outside: of installed entry points, then of the provider module.

    Raises: InvalidProviderModule.
    """
    installed = sorted(point.name for point in entry_points(group=ENTRY_POINT_GROUP))
    return (*installed, *(names_in_module(module) if module else ()))


def refuse_broken_module(module: Path) -> None:
    """Run the provider module once, in a process of its own, so that a broken one is not measured as failing points.

    Raises: InvalidProviderModule, with what the module raised.
    """
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
        raise InvalidProviderModule(f"{module}: fails when it is run ({raised[-1]})")


def names_in_module(path: Path) -> tuple[str, ...]:
    """Return the keys of the dict that `path` assigns to PROVIDERS at its top level, without running the file.

    Raises: InvalidProviderModule.
    """
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    except (OSError, UnicodeDecodeError, SyntaxError) as error:
        raise InvalidProviderModule(f"{path}: cannot be read as Python ({error})") from error
    for statement in tree.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        is_ours = any(isinstance(target, ast.Name) and target.id == "PROVIDERS" for target in targets)
        if is_ours and isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Dict):
            names = [key.value if isinstance(key, ast.Constant) else None for key in statement.value.keys]
            if names and all(isinstance(name, str) and name for name in names):
                return tuple(str(name) for name in names)
    raise InvalidProviderModule(
        f'{path}: holds no PROVIDERS = {{"name": build, ...}} at its top level, with names written out'
    )
