"""Journal: durable lines of one commit, machine and environment, appended by one sweep at a time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from benchmarks.ruler.errors import JournalError
from benchmarks.ruler.record.durable import append_durably
from benchmarks.ruler.record.lines import Line, OtherFormat, Run, line_from_text, text_from_line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def now() -> str:
    """Return this moment as runs and lines carry it: ISO 8601 in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def journal_path(data_dir: Path, run: Run) -> Path:
    """Return the path of the journal that holds the lines of `run`."""
    return data_dir / "journal" / run.machine / f"{run.commit[:8]}-{run.environment}.jsonl"


def append(path: Path, lines: Sequence[Line]) -> None:
    """Append `lines` in one write and wait until they are on the disk. Raises: JournalError."""
    if not lines:
        return
    try:
        append_durably(path, "".join(text_from_line(line) for line in lines))
    except OSError as error:
        raise JournalError(
            f"{path}: cannot be written ({error.strerror or error}); make room or set FUSEBENCH_DATA"
        ) from error


class JournalReader:
    """Reader that parses each line of a journal once: every read returns what was appended since the last."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0
        self._n_lines = 0

    def read(self) -> list[Line]:
        """Return the new lines, oldest first; none if there is no such file; a torn last line is ignored.

        Raises: JournalError, naming the line, if one cannot be parsed or is of another format.
        """
        try:
            with self.path.open("rb") as file:
                file.seek(self._offset)
                content = file.read()
        except FileNotFoundError:
            return []
        except OSError as error:
            why = error.strerror or error
            raise JournalError(
                f"{self.path}: cannot be read ({why}); mend that, or set FUSEBENCH_DATA to another folder"
            ) from error
        *texts, torn = content.split(b"\n")
        lines = [self._parsed(text, number) for number, text in enumerate(texts, start=self._n_lines + 1)]
        self._offset += len(content) - len(torn)
        self._n_lines += len(texts)
        return lines

    def _parsed(self, text: bytes, number: int) -> Line:
        try:
            return line_from_text(text)
        except OtherFormat as error:
            raise JournalError(
                f"{self.path}:{number}: {error}; "
                "measure with the newer checkout, or set FUSEBENCH_DATA to another folder"
            ) from error
        except (ValueError, KeyError, TypeError) as error:
            raise JournalError(
                f"{self.path}:{number}: not a line of a journal ({error!r}); move the file away to measure anew"
            ) from error
