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
    from collections.abc import Iterator
    from pathlib import Path

# Of the traces, the smallest: enough to look at, little to carry.
_MOST_TRACE_BYTES = 4_000_000


def pack(settings: CampaignSettings) -> Report:
    """Write the archive, unless one with the same content exists."""
    full_hash, machine = measured_commit(settings.ruler).hash, machine_name(settings.ruler)
    commit = full_hash[:8]
    environment = environment_name(settings.device, settings.ruler)
    files = dict(_files(settings, commit=commit, machine=machine, environment=environment))
    if not any(name.startswith("journal/") for name in files):
        return Report(status=Status.UNFINISHED, words="there is no journal of this commit to pack yet")
    manifest = {
        "commit": full_hash,
        "machine": machine,
        "environment": environment,
        "budget": settings.budget,
        "sha256": {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in sorted(files.items())},
    }
    text = json.dumps(manifest, indent=1) + "\n"
    archive = settings.out / f"fusebench-campaign-{machine}-{environment}-{commit}.tar.gz"
    if _manifest_of(archive) == text:
        return Report(status=Status.DONE, words=f"{archive} holds all {len(files)} files already")
    beside = archive.with_suffix(".partial")
    with tarfile.open(beside, "w:gz") as tar:
        info = tarfile.TarInfo("campaign/manifest.json")
        info.size = len(text.encode())
        tar.addfile(info, io.BytesIO(text.encode()))
        for name, path in sorted(files.items()):
            tar.add(path, arcname=name, recursive=False)
    beside.replace(archive)
    size = archive.stat().st_size / 1e6
    return Report(status=Status.DONE, words=f"{archive}: {len(files)} files, {size:.1f} MB", measured=len(files))


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


def _manifest_of(archive: Path) -> str | None:
    try:
        with tarfile.open(archive) as tar:
            member = tar.extractfile("campaign/manifest.json")
            return member.read().decode() if member else None
    except (OSError, KeyError, tarfile.TarError):
        return None
