"""Native libraries, each compiled once per machine and found again by what went into it.

A library lies in a folder named by a hash of everything that goes into it, so that two commits, two torch versions
or two machines on one home never share one. Builders take turns by a lock of the operating system on that folder,
which ends with the process that holds it. Beside it lies its digest: loading half a library ends the process.

FUSED_MLP_CACHE names another parent folder than $XDG_CACHE_HOME/fused_mlp (~/.cache/fused_mlp).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shlex
import subprocess
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import torch

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
    return cache_folder() / digest.hexdigest()[:16] / name


def is_whole(library: Path) -> bool:
    """Return whether `library` is there as it was compiled."""
    try:
        return _digest_path(library).read_bytes() == _digest_of(library)
    except OSError:
        return False


def is_damaged(library: Path) -> bool:
    """Return whether `library` is there and was cut off or written over since it was compiled."""
    return library.exists() and _digest_path(library).exists() and not is_whole(library)


def ensure_compiled(library: Path, *, compiler: str, command: Sequence[str]) -> None:
    """Compile `library` by `command`, to which "-o FILE" is added, unless it is there and whole.

    Warns: RuntimeWarning if it is there and damaged.
    Raises: Unavailable if the folder cannot be written, or `command`, of `compiler` in words, does not start or fails;
        the message has what it printed.
    """
    if is_whole(library):
        return
    try:
        library.parent.mkdir(parents=True, exist_ok=True)
        with _exclusive(library.parent / "lock"):
            if is_whole(library):
                return
            if is_damaged(library):
                warnings.warn(f"{library} is damaged; it is compiled again", RuntimeWarning, stacklevel=2)
            _compile(library, compiler=compiler, command=command)
    except OSError as error:
        reason = f"what is compiled cannot be kept in {library.parent}: {error}"
        raise Unavailable(f"{reason}; FUSED_MLP_CACHE names another folder") from error


def torch_include_flags() -> list[str]:
    """Return the compiler's flags that find this torch's headers, as torch.utils.cpp_extension does.

    That module is not asked: it imports setuptools, which not every environment has, and warns of a CUDA without a GPU.
    """
    headers = Path(torch.__file__).parent / "include"
    return [flag for folder in (headers, headers / "torch/csrc/api/include") for flag in ("-isystem", str(folder))]


def torch_link_flags() -> list[str]:
    """Return the compiler's flags that find this torch's libraries."""
    return [f"-L{Path(torch.__file__).parent / 'lib'}"]


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
    _digest_path(library).write_bytes(_digest_of(unfinished))
    unfinished.replace(library)


def _digest_path(library: Path) -> Path:
    return library.with_suffix(".sha256")


def _digest_of(library: Path) -> bytes:
    return hashlib.sha256(library.read_bytes()).hexdigest().encode()


@contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def cache_folder() -> Path:
    """Return the folder that compiled libraries are kept in: FUSED_MLP_CACHE, or one below the user's caches."""
    if named := os.environ.get("FUSED_MLP_CACHE"):
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fused_mlp"
