"""Log of the dashboard: to the terminal, or to a file that never grows beyond its share."""

from __future__ import annotations

import logging
from logging.handlers import RotatingFileHandler
from typing import TYPE_CHECKING

import click

from results.printable import printable

if TYPE_CHECKING:
    from pathlib import Path

MOST_BYTES, MOST_OLD_FILES = 5 << 20, 3
LONGEST_RECORD = 8_000  # characters; a stack fits
FORMAT = "%(asctime)s %(levelname)s %(message)s"
# Loggers of ours and of the server; others warn there through the root.
LEVELS = {"dashboard": logging.INFO, "waitress": logging.WARNING, "werkzeug": logging.WARNING,
          # A line for each request that waits for a thread: many, just when there is much to do.
          "waitress.queue": logging.ERROR}  # fmt: skip


class CutFormatter(logging.Formatter):
    """Formatter of records without control characters, each cut in its middle to LONGEST_RECORD characters."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text, with its stack."""
        text = printable(super().format(record))
        left = len(text) - LONGEST_RECORD
        half = LONGEST_RECORD // 2
        return text if left <= 0 else f"{text[:half]}\n… {left} characters …\n{text[-half:]}"


def begin_log(path: Path | None) -> None:
    """Send the log to `path`, renamed at MOST_BYTES and the oldest removed; to the terminal if None.

    Raises: UsageError if the file cannot be written.
    """
    try:
        handler: logging.Handler = (
            logging.StreamHandler()
            if path is None
            else RotatingFileHandler(path, maxBytes=MOST_BYTES, backupCount=MOST_OLD_FILES, encoding="utf-8")
        )
    except OSError as error:
        raise click.UsageError(f"cannot write the log {path} ({error.strerror}); name another with --log") from error
    handler.setFormatter(CutFormatter(FORMAT))
    logging.getLogger().addHandler(handler)
    for name, level in LEVELS.items():
        logging.getLogger(name).setLevel(level)
