"""Archive of a campaign: the record in the layout of results/data, and the campaign's own files."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from typing import TYPE_CHECKING

from benchmarks.ruler.campaign.settings import CampaignSettings, Report, Status
from benchmarks.ruler.record.provenance import environment_name, machine_name, measured_commit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

MANIFEST = "campaign/manifest.json"
# Of the traces, the smallest: enough to look at, little to carry.
_MOST_TRACE_BYTES = 4_000_000
# What a rented machine may let out of one file.
MOST_ARCHIVE_BYTES = 16 * 2**20


def pack(settings: CampaignSettings) -> Report:
    """Write the archive, unless one with the same content exists; safe while a sweep appends to its journal."""
    full_hash, machine = measured_commit(settings.ruler).hash, machine_name(settings.ruler)
    environment = environment_name(settings.device, settings.ruler)
    found = _files(settings, commit=full_hash[:8], machine=machine, environment=environment)
    files = {name: _whole_lines(path) for name, path in sorted(found)}
    if not files:
        return Report(status=Status.UNFINISHED, words="there is nothing of this commit to pack yet")
    about = {
        "commit": full_hash,
        "machine": machine,
        "environment": environment,
        "device": settings.device,
        "budget": settings.budget,
    }
    archive = archive_path(settings)
    if _manifest_of(archive) == _manifest(about, files):
        return Report(status=Status.DONE, words=f"{archive} holds all {len(files)} files already")
    size = _written(archive, about, files)
    if size > MOST_ARCHIVE_BYTES:
        files = {name: content for name, content in files.items() if not name.startswith("traces/")}
        size = _written(archive, about, files)
    words = f"{archive}: {len(files)} files, {size / 1e6:.1f} MB"
    if size > MOST_ARCHIVE_BYTES:
        words += f"; more than {MOST_ARCHIVE_BYTES / 1e6:.1f} MB, which may be too much for one file to carry"
    return Report(status=Status.DONE, words=words, measured=len(files))


def archive_path(settings: CampaignSettings) -> Path:
    """Return the path of the campaign's archive."""
    commit, machine = measured_commit(settings.ruler).hash[:8], machine_name(settings.ruler)
    environment = environment_name(settings.device, settings.ruler)
    return settings.out / f"fusebench-campaign-{machine}-{environment}-{commit}.tar.gz"


def _files(settings: CampaignSettings, *, commit: str, machine: str, environment: str) -> Iterator[tuple[str, Path]]:
    data = settings.ruler.data_dir
    for path in (data / "journal" / machine).glob(f"{commit}-{environment}.jsonl"):
        yield f"journal/{machine}/{path.name}", path
    if (ceilings := data / "machines" / f"{machine}.json").is_file():
        yield f"machines/{ceilings.name}", ceilings
    asv = data / "asv"
    for path in (asv / machine).glob("*.json"):
        if path.name == "machine.json" or path.name.startswith(commit):
            yield f"asv/{machine}/{path.name}", path
    if (asv / "benchmarks.json").is_file():
        yield "asv/benchmarks.json", asv / "benchmarks.json"
    left = _MOST_TRACE_BYTES
    for path in sorted((data / "traces").glob(f"{commit}-*"), key=lambda each: each.stat().st_size):
        left -= path.stat().st_size
        if left >= 0:
            yield f"traces/{path.name}", path
    for path in sorted(settings.out.iterdir()):
        if path.is_file() and path.suffix in {".json", ".jsonl", ".md", ".txt"}:
            yield f"campaign/{path.name}", path


def _whole_lines(path: Path) -> bytes:
    content = path.read_bytes()
    # Somebody may be appending: what is not a whole line yet belongs to the next archive.
    return content[: content.rfind(b"\n") + 1] if path.suffix == ".jsonl" else content


def _manifest(about: Mapping[str, str], files: Mapping[str, bytes]) -> str:
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    return json.dumps({**about, "sha256": digests}, indent=1) + "\n"


def _written(archive: Path, about: Mapping[str, str], files: Mapping[str, bytes]) -> int:
    """Write the archive in one step; return its size in bytes."""
    beside = archive.with_suffix(".partial")
    with tarfile.open(beside, "w:gz") as tar:
        for name, content in {MANIFEST: _manifest(about, files).encode(), **files}.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    beside.replace(archive)
    return archive.stat().st_size


def _manifest_of(archive: Path) -> str | None:
    try:
        with tarfile.open(archive) as tar:
            member = tar.extractfile(MANIFEST)
            return member.read().decode() if member else None
    except (OSError, KeyError, EOFError, tarfile.TarError):
        return None
