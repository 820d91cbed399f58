"""Native libraries, each compiled once per machine and found again by what went into it.

A library lies in a folder named by a hash of everything that goes into it, so that two commits, two torch versions
or two machines on one home never share one. Builders take turns by a lock of the operating system on that folder,
which ends with the process that holds it.

FUSED_MLP_CACHE names another parent folder than $XDG_CACHE_HOME/fused_mlp (~/.cache/fused_mlp).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shlex
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fused_mlp.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

PACKAGE = Path(__file__).parents[1]


def library_path(name: str, *, sources: Iterable[Path], conditions: Iterable[str]) -> Path:
    """Return where the library `name` lies that `sources`, files of this package, become under `conditions`.

    conditions: whatever else decides its machine code: flags, versions, the CPU's or GPU's features.
    """
    digest = hashlib.sha256()
    for source in sorted(sources):
        digest.update(source.relative_to(PACKAGE).as_posix().encode() + b"\0" + source.read_bytes())
    digest.update("\0".join(conditions).encode())
    return _cache_folder() / digest.hexdigest()[:16] / name


def ensure_compiled(library: Path, *, compiler: str, command: Sequence[str]) -> None:
    """Compile `library` by `command`, to which "-o FILE" is added, unless it exists.

    Raises: Unavailable if the folder cannot be written, or `command`, of `compiler` in words, does not start or fails;
        the message has what it printed.
    """
    if library.exists():
        return
    try:
        library.parent.mkdir(parents=True, exist_ok=True)
        with _exclusive(library.parent / "lock"):
            if not library.exists():
                _compile(library, compiler=compiler, command=command)
    except OSError as error:
        reason = f"what is compiled cannot be kept in {library.parent}: {error}"
        raise Unavailable(f"{reason}; FUSED_MLP_CACHE names another folder") from error


def _compile(library: Path, *, compiler: str, command: Sequence[str]) -> None:
    # The finished file appears under its name in one step, so that a reader never loads half of one.
    unfinished = library.with_suffix(f".{os.getpid()}.tmp")
    try:
        finished = subprocess.run([*command, "-o", str(unfinished)], capture_output=True, text=True, check=False)
    except OSError as error:
        raise Unavailable(f"{compiler} {command[0]} did not start: {error}") from error
    if finished.returncode != 0:
        unfinished.unlink(missing_ok=True)
        complaint = "\n".join(finished.stderr.strip().splitlines()[-20:])
        raise Unavailable(f"{compiler} failed ({shlex.join(command)}):\n{complaint}")
    unfinished.replace(library)


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _cache_folder() -> Path:
    if named := os.environ.get("FUSED_MLP_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fused_mlp"
