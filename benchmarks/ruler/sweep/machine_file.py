"""The machine's file: its ceilings, measured once per environment and kept."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.ruler.errors import JournalError
from benchmarks.ruler.plan.roofline import Ceilings
from benchmarks.ruler.record.provenance import data_dir

if TYPE_CHECKING:
    from benchmarks.ruler.worker.process import WorkerProcess

CEILINGS_FORMAT = 1


def kept_ceilings(*, machine: str, environment: str) -> Ceilings | None:
    """The machine's ceilings if its file holds them.

    Raises: JournalError if the file is not one of ours.
    """
    known = _content(machine)["environments"].get(environment)
    return None if known is None else Ceilings(**known)


def machine_ceilings(worker: WorkerProcess, *, machine: str, environment: str) -> Ceilings | None:
    """The machine's ceilings, measured now if its file does not hold them; None if the worker died of it.

    Raises: JournalError if the file is not one of ours.
    """
    if (known := kept_ceilings(machine=machine, environment=environment)) is not None:
        return known
    answer = worker.ask_ceilings()
    said = [message["ceilings"] for message in answer.messages if message["event"] == "ceilings"]
    if not said:
        return None
    content = _content(machine)
    content["environments"][environment] = said[0]
    _write_whole(_path(machine), json.dumps(content, indent=1) + "\n")
    return Ceilings(**said[0])


def _path(machine: str) -> Path:
    return data_dir() / "machines" / f"{machine}.json"


def _content(machine: str) -> dict[str, Any]:
    path = _path(machine)
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        for known in content["environments"].values():
            Ceilings(**known)
    except FileNotFoundError:
        return {"format": CEILINGS_FORMAT, "machine": machine, "environments": {}}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise JournalError(
            f"{path}: not a file of ceilings ({error!r}); remove it, and they are measured anew"
        ) from error
    return content


def _write_whole(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    Path(file.name).replace(path)
