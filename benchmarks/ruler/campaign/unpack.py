"""Archive of a campaign put back on another machine, where the campaign then goes on; nothing there is lost."""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.ruler.campaign.pack import MANIFEST
from benchmarks.ruler.errors import RulerError
from benchmarks.ruler.record.durable import append_durably, write_whole

if TYPE_CHECKING:
    from pathlib import Path

# Folder and name, or folder, machine and name; no part begins with a dot.
_NAME = re.compile(r"(journal|machines|asv|traces|campaign)(/[^/.][^/]*){1,2}")


class DamagedArchive(RulerError):
    """Raised when a file is no archive of a campaign, or not the whole of one."""


@dataclass(frozen=True, kw_only=True)
class Unpacked:
    """What became of an archive's files. kept: those that differ from what was there, which stays; both are there."""

    commit: str
    machine: str
    n_files: int
    n_new: int
    kept: tuple[str, ...]


def unpack(archive: Path, *, data_dir: Path, out: Path) -> Unpacked:
    """Put the files of `archive` where a campaign finds them: the record in `data_dir`, the campaign's own in `out`.

    Of lines, those that are missing are added. Another file that is there and differs stays, with the archive's beside
    it. Raises: DamagedArchive, before anything is written.
    """
    manifest, files = _read(archive)
    n_new, kept = 0, []
    for name, content in files.items():
        target = out / name.removeprefix("campaign/") if name.startswith("campaign/") else data_dir / name
        if not target.exists():
            write_whole(target, content)
            n_new += 1
        elif target.suffix == ".jsonl":
            n_new += _added_lines(target, content)
        elif target.read_bytes() != content:
            write_whole(target.with_name(f"{target.name}.from-{hashlib.sha256(content).hexdigest()[:8]}"), content)
            kept.append(name)
    return Unpacked(
        commit=manifest["commit"],
        machine=manifest["machine"],
        n_files=len(files),
        n_new=n_new,
        kept=tuple(kept),
    )


def _read(archive: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the manifest, and the content of each file that it names."""
    try:
        with tarfile.open(archive) as tar:
            content = {member.name: _content(tar, member) for member in tar if member.isreg()}
        manifest = json.loads(content.pop(MANIFEST))
        digests: dict[str, str] = manifest["sha256"]
        files = {name: content[name] for name in digests}
    except (OSError, EOFError, ValueError, KeyError, TypeError, tarfile.TarError) as error:
        raise DamagedArchive(
            f"{archive}: not a whole archive of a campaign ({error!r}); copy it again, or begin without it"
        ) from error
    for name, digest in digests.items():
        if not _NAME.fullmatch(name) or hashlib.sha256(files[name]).hexdigest() != digest:
            raise DamagedArchive(f"{archive}: {name!r} is not as it was packed; copy the archive again")
    return manifest, files


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    return file.read() if file else b""


def _added_lines(target: Path, content: bytes) -> int:
    """Append the lines that `target` lacks; return 1 if there were any."""
    known = set(target.read_bytes().splitlines())
    missing = [line for line in content.splitlines() if line not in known]
    if missing:
        append_durably(target, b"".join(line + b"\n" for line in missing).decode())
    return int(bool(missing))
