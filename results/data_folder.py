"""What the environment names: the folder of record, and the database."""

from __future__ import annotations

import os
from pathlib import Path

NAME_IN_DATA_FOLDER = "fusebench.db"


def data_folder_of_environment() -> Path | None:
    """Return the folder of record that FUSEBENCH_DATA names, absolute; None if it names none."""
    named = os.environ.get("FUSEBENCH_DATA")
    return Path(named).absolute() if named else None


def database_of_environment() -> str | None:
    """Return the database that FUSEBENCH_DB names, else the one in FUSEBENCH_DATA's folder; None if neither is set."""
    if named := os.environ.get("FUSEBENCH_DB"):
        return named
    folder = data_folder_of_environment()
    return None if folder is None else str(folder / NAME_IN_DATA_FOLDER)
