"""Folder of a fleet: the plan, its shards, and what each host has recorded and noted.

    fleet.json                  what all shards share
    shards/0001.json …          what a host measures in one go
    class.json                  what a host of this class is, by the first that was admitted
    locks/                      who starts shards, and who measures as which host (claim.py)
    hosts/<host>/               that host's folder of record: journal/, machines/
    hosts/<host>/host.json      who it is, its calibration, and whether it is fit
    hosts/<host>/work/0001.json how far it has got with a shard

A shard is measured into the folder that the host sees; folders of several hosts are brought together by `collect`.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar

from benchmarks.ruler.errors import InvalidShard
from benchmarks.ruler.fleet.shards import SHARD_FORMAT, Fleet, Shard
from benchmarks.ruler.record.codec import json_from_value, value_from_json
from benchmarks.ruler.record.durable import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from _typeshed import DataclassInstance

_Value = TypeVar("_Value")
_PLAN_AGAIN = "copy it again, or plan again with `fusebench fleet plan`"


def host_folder(folder: Path, host: str) -> Path:
    """Return a host's folder of record below the fleet's."""
    name = re.sub(r"[^\w.-]|^\.", "_", host)
    # `gpu 1` and `gpu/1` are two hosts: what had to be written otherwise is told apart by its hash.
    return folder / "hosts" / (name if name == host else f"{name}-{blake2b(host.encode(), digest_size=3).hexdigest()}")


def run_claim(folder: Path) -> Path:
    """Return the path of the claim to start the shards of a fleet."""
    return folder / "locks" / "fleet-run"


def collection_claim(folder: Path) -> Path:
    """Return the path of the claim to bring hosts' folders into a fleet's."""
    return folder / "locks" / "fleet-collect"


def host_claim(folder: Path, host: str) -> Path:
    """Return the path of the claim to measure as a host of a fleet."""
    return folder / "locks" / f"host-{host_folder(folder, host).name}"


def hosts_of(folder: Path) -> tuple[str, ...]:
    """Return the hosts that have a folder, in the order of their names."""
    root = folder / "hosts"
    return tuple(sorted(path.name for path in root.iterdir() if path.is_dir())) if root.is_dir() else ()


def shard_path(folder: Path, shard: Shard) -> Path:
    """Return the path of a shard's file."""
    return folder / "shards" / f"{shard.name}.json"


def write_shards(folder: Path, fleet: Fleet, shards: Sequence[Shard]) -> None:
    """Write the plan, one file a shard. Raises: InvalidShard."""
    write_value(folder / "fleet.json", fleet)
    for shard in shards:
        write_value(shard_path(folder, shard), shard)


def read_fleet(folder: Path) -> Fleet:
    """Return what the shards of `folder` share. Raises: InvalidShard."""
    return _read(folder / "fleet.json", Fleet)


def read_shard(path: Path) -> Shard:
    """Return the shard that is written at `path`.

    Raises: InvalidShard, for a shard of another plan than the one that lies beside it, too.
    """
    shard, plan = _read(path, Shard), fleet_folder_of(path) / "fleet.json"
    if len(set(shard.groups)) < len(shard.groups):
        raise InvalidShard(f"{path}: holds a group twice; {_PLAN_AGAIN}")
    if plan.exists():
        _refuse_other_fleet(path, shard.fleet, _read(plan, Fleet))
    return shard


def _refuse_other_fleet(path: Path, found: Fleet, planned: Fleet) -> None:
    if found.name != planned.name:
        raise InvalidShard(
            f"{path}: is of fleet {found.name}, the folder of {planned.name}; move it to the folder of its own fleet"
        )
    if differing := [each.name for each in fields(Fleet) if getattr(found, each.name) != getattr(planned, each.name)]:
        raise InvalidShard(
            f"{path}: its {' and '.join(differing)} differ from those of fleet.json beside it; {_PLAN_AGAIN}"
        )


def shard_left(path: Path) -> Shard:
    """Return the shard at `path` without what was planned anew in a later one beside it. Raises: InvalidShard."""
    shard = read_shard(path)
    later = (
        read_shard(each) for each in path.parent.glob("*.json") if each.stem.isdigit() and int(each.stem) > shard.number
    )
    anew = {key for each in later if each.fleet.name == shard.fleet.name for key in each.groups}
    return replace(shard, groups=tuple(key for key in shard.groups if key not in anew))


def read_shards(folder: Path) -> tuple[Shard, ...]:
    """Return all shards of `folder` by number. Raises: InvalidShard, for a folder without any, too."""
    found = (read_shard(path) for path in (folder / "shards").glob("*.json"))
    shards = tuple(sorted(found, key=lambda shard: shard.number))
    numbers = [shard.number for shard in shards]
    if twice := next((number for number in numbers if numbers.count(number) > 1), None):
        raise InvalidShard(f"{folder}: two files in shards/ hold shard {twice}; remove the copy")
    if not shards:
        raise InvalidShard(f"{folder}: no shards are planned there; `fusebench fleet plan --out {folder}` plans some")
    return shards


def fleet_folder_of(shard_file: Path) -> Path:
    """Return the folder of the fleet that a shard's file lies in; for a file that was carried alone, its own folder."""
    shards = shard_file.absolute().parent
    return shards.parent if shards.name == "shards" else shards


def folder_time(folder: Path) -> datetime:
    """Return the time by the clock of the folder's file system, which its hosts share, whatever their own clocks show.

    A folder that cannot be written has this host's time.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            return datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC)
    except OSError:
        return datetime.now(UTC)


def write_value(path: Path, value: DataclassInstance) -> None:
    """Write a value as JSON in place of an earlier one. Raises: InvalidShard."""
    with named_if_unwritable(path):
        write_whole(path, _text(value))


def write_new_value(path: Path, value: DataclassInstance) -> None:
    """Write a value as JSON in one step, unless there is one. Raises: InvalidShard."""
    with named_if_unwritable(path), suppress(FileExistsError):
        write_whole(path, _text(value), may_replace=False)


@contextmanager
def named_if_unwritable(path: Path) -> Iterator[None]:
    """Turn what keeps a file of a fleet from being written into InvalidShard, which names it."""
    try:
        yield
    except (FileExistsError, NotADirectoryError) as error:
        raise InvalidShard(f"{path}: cannot be written, as {_file_above(path)}; name another folder") from error
    except OSError as error:
        raise InvalidShard(
            f"{path}: cannot be written ({error.strerror}); make room there, or make the fleet's folder writable"
        ) from error


def read_value(path: Path, kind: type[_Value], *, mend: str) -> _Value | None:
    """Return the value that `path` holds; None if there is no such file.

    Raises: InvalidShard for a damaged file; mend: what to do about it.
    """
    return _read(path, kind, mend=mend) if path.exists() else None


def _file_above(path: Path) -> str:
    """Return in words what keeps `path` from lying in a folder."""
    found = next((above for above in path.parents if above.exists() and not above.is_dir()), path)
    return f"{found} is no folder"


def _text(value: DataclassInstance) -> str:
    return json.dumps(json_from_value(value), indent=1) + "\n"


def _read(path: Path, kind: type[_Value], *, mend: str = _PLAN_AGAIN) -> _Value:
    try:
        values: Any = json.loads(path.read_text(encoding="utf-8"))
        if kind is Shard and (found := values.get("format", SHARD_FORMAT)) != SHARD_FORMAT:
            raise InvalidShard(f"{path}: shard format {found!r}, this checkout reads {SHARD_FORMAT}; use the newer one")
        return value_from_json(kind, values)
    except FileNotFoundError:
        raise InvalidShard(f"{path}: no such file; `fusebench fleet plan --out FOLDER` writes it") from None
    except NotADirectoryError:
        raise InvalidShard(
            f"{path}: no such file, as {_file_above(path)}; name the folder that `fusebench fleet plan --out` wrote"
        ) from None
    except OSError as error:
        raise InvalidShard(f"{path}: cannot be read ({error.strerror}); make it readable, or copy it again") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidShard(f"{path}: not a file of a fleet ({error!r}); {mend}") from error
