"""Compression of answers; scripts that never change, by the hash in their names, are compressed once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask_compress import Compress

if TYPE_CHECKING:
    from flask import Flask
    from werkzeug.wrappers import Request

# Dash's own folder of scripts with a fingerprint, which it has browsers keep for a year.
UNCHANGING = "/_dash-component-suites/"
NOT_KEPT = ""


class CompressedScripts:
    """Compressed scripts by algorithm and path, kept in memory: a few megabytes, whoever asks for what."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}

    def get(self, key: str) -> bytes | None:
        """Return what was kept under `key`, if anything."""
        return self._kept.get(key)

    def set(self, key: str, value: bytes) -> None:
        """Keep `value`, unless its key says that it may change."""
        if not key.endswith(f";{NOT_KEPT}"):
            self._kept[key] = value


def compress_answers(server: Flask) -> None:
    """Compress what `server` answers with Brotli, else with gzip, as the browser can take."""
    server.config.update(
        COMPRESS_ALGORITHM=["br", "gzip"],
        COMPRESS_BR_LEVEL=5,
        COMPRESS_CACHE_BACKEND=CompressedScripts,
        COMPRESS_CACHE_KEY=_key,
        # Our few small files are sent from their open file, which the library would not close.
        COMPRESS_STREAMS=False,
    )
    Compress(server)


def _key(request: Request) -> str:
    return request.path if request.path.startswith(UNCHANGING) else NOT_KEPT
