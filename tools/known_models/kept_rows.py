"""Tables whose rows take long: what is done of one is kept in a file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class KeptRows:
    """Rows of a table by name in a file, for a call that goes on where one was interrupted.

    made: what they are of; rows of anything else are not taken over.
    """

    def __init__(self, file: Path, *, made: str) -> None:
        self._file = file
        self._made = made
        found = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        self.rows: dict[str, str] = found["rows"] if found.get("made") == made else {}

    def add(self, name: str, row: str) -> None:
        """Keep a row under its name."""
        self.rows[name] = row
        self._file.parent.mkdir(parents=True, exist_ok=True)
        whole = self._file.with_suffix(".part")
        whole.write_text(json.dumps({"made": self._made, "rows": self.rows}, indent=1), encoding="utf-8")
        whole.replace(self._file)
