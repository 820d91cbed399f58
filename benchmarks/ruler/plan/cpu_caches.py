"""Sizes of the CPU's caches, as the system reports them. Imports nothing heavy."""

from __future__ import annotations

from pathlib import Path


def last_level_cache_bytes() -> int:
    """Return the size of the CPU's largest cache in bytes; 32 MiB if the system does not report it."""
    sizes = [_size(path) for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")]
    return max(sizes, default=32 * 2**20)


def private_cache_bytes() -> int:
    """Return the size of one core's second-level cache in bytes; 1 MiB if the system does not report it."""
    folders = Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")
    sizes = [_size(folder / "size") for folder in folders if _first_line(folder / "level") == "2"]
    return max(sizes, default=2**20)


def _size(path: Path) -> int:
    text = _first_line(path) or "0"
    units = {"K": 2**10, "M": 2**20, "G": 2**30}
    return int(text[:-1]) * units[text[-1]] if text[-1] in units else int(text)


def _first_line(path: Path) -> str | None:
    try:
        return next(iter(path.read_text(encoding="utf-8").splitlines()), None)
    except OSError:
        return None
