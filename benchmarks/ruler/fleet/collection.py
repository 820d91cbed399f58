"""Collection of hosts' folders into one: from a folder or an object store by fsspec, from another machine by rsync."""

from __future__ import annotations

import os
import re
import subprocess
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import fsspec

from benchmarks.ruler.errors import InvalidShard
from benchmarks.ruler.fleet.claim import claimed
from benchmarks.ruler.fleet.folder import collection_claim, named_if_unwritable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_OF_RSYNC = re.compile(r"(?!\w+://)[^/]+:.*|rsync://.*")
# What is noted anew is replaced; of journals, only what is longer than ours comes.
_RSYNC = (("--exclude=*.jsonl",), ("--append-verify", "--include=*/", "--include=*.jsonl", "--exclude=*"))
_LINES_SHOWN = 3


def collected(folder: Path, sources: Sequence[str], *, say: Callable[[str], None]) -> list[str]:
    """Bring the hosts' folders below `sources`, folders of the same fleet, into `folder`; return in words what came.

    A source is a folder, `user@host:folder` (rsync), or an address that fsspec knows, as `s3://bucket/folder`. Journals
    only grow: a shorter one never replaces a longer one. Raises: InvalidShard for a source that cannot be read, or a
    folder that cannot be written; FolderTaken while another process does the same.
    """
    with claimed(collection_claim(folder), refusal=partial(_taken_by, folder), say=say):
        return [
            _by_rsync(folder, source) if _OF_RSYNC.fullmatch(source) else _copied(folder, source) for source in sources
        ]


def _taken_by(folder: Path, holder: str) -> str:
    return f"{folder}: {holder}, brings hosts' folders there; the same command again once it has ended"


def _by_rsync(folder: Path, source: str) -> str:
    (folder / "hosts").mkdir(parents=True, exist_ok=True)
    places = (f"{source.rstrip('/')}/hosts/", f"{folder}/hosts/")
    return f"{source}: {sum(_transferred(source, [*each, *places]) for each in _RSYNC)} files came"


def _transferred(source: str, options: Sequence[str]) -> int:
    try:
        done = subprocess.run(["rsync", "-a", "--stats", *options], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise InvalidShard(
            f"{source}: rsync is not installed here; install it, or name a folder or an address"
        ) from None
    if done.returncode:
        said = " ".join(done.stderr.strip().splitlines()[-_LINES_SHOWN:])
        raise InvalidShard(f"{source}: rsync ended with {done.returncode} ({said}); does it hold a folder `hosts`?")
    found = re.search(r"files transferred: ([\d,]+)", done.stdout)
    return int(found[1].replace(",", "")) if found else 0


def _copied(folder: Path, source: str) -> str:
    try:
        files, root = fsspec.core.url_to_fs(source)
        root = root.rstrip("/")
        found = files.find(f"{root}/hosts", detail=True)
    except (ImportError, ValueError, OSError) as error:
        raise InvalidShard(f"{source}: cannot be read ({error}); name the folder that holds `hosts`") from error
    if not found:
        raise InvalidShard(
            f"{source}: there is no host's folder below `hosts`; name the folder that `fleet work` wrote to"
        )
    n_taken = sum(_taken(files, path, int(info["size"]), folder, path[len(root) + 1 :]) for path, info in found.items())
    return f"{source}: {n_taken} of {len(found)} files came"


def _taken(files: fsspec.AbstractFileSystem, path: str, size: int, folder: Path, name: str) -> bool:
    """Copy one file, but of journals what is longer than ours alone; return whether it was copied.

    Raises: InvalidShard for a journal that is no copy of ours: two hosts are called alike.
    """
    target = folder / name
    # An object store may name anything; hosts' folders are all that is taken.
    if not Path(os.path.normpath(target)).is_relative_to(folder / "hosts"):
        raise InvalidShard(f"{path}: leads out of the fleet's folder; remove it from the store")
    is_journal = target.suffix == ".jsonl"
    ours = target.stat().st_size if is_journal and target.exists() else None
    if ours == size:
        return False
    partly = target.with_name(f".{target.name}.part")
    with named_if_unwritable(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        files.get_file(path, str(partly))
    if ours is not None and not _begin_alike(partly, target):
        partly.unlink()
        raise InvalidShard(
            f"{path}: holds other lines than {target}, so two hosts are called alike, or one began anew; rename the "
            "folder of one of them below `hosts`, and set FUSEBENCH_HOST where it measures"
        )
    if ours is not None and ours > size:
        partly.unlink()
        return False
    partly.replace(target)
    return True


def _begin_alike(one: Path, other: Path) -> bool:
    with one.open("rb") as lines, other.open("rb") as theirs:
        # A torn line is one that was being written when it was copied.
        return all(a == b or not (a.endswith(b"\n") and b.endswith(b"\n")) for a, b in zip(lines, theirs, strict=False))
