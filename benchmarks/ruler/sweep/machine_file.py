"""File of a machine: its ceilings, measured once per environment and kept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from benchmarks.ruler.errors import JournalError
from benchmarks.ruler.plan.roofline import Ceilings
from benchmarks.ruler.record.codec import value_from_json
from benchmarks.ruler.record.durable import write_whole

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.ruler.worker.process import WorkerProcess

CEILINGS_FORMAT = 1


def kept_ceilings(data_dir: Path, *, machine: str, environment: str) -> Ceilings | None:
    """Return the machine's ceilings if its file holds them. Raises: JournalError if the file is not one of ours."""
    known = _content(_path(data_dir, machine), machine)["environments"].get(environment)
    return None if known is None else value_from_json(Ceilings, known)


def machine_ceilings(worker: WorkerProcess, data_dir: Path, *, machine: str, environment: str) -> Ceilings | None:
    """Return the machine's ceilings, measured now if its file does not hold them; None if the worker died.

    Raises: JournalError if the file is not one of ours.
    """
    if (known := kept_ceilings(data_dir, machine=machine, environment=environment)) is not None:
        return known
    answer = worker.ask_ceilings()
    found = [message["ceilings"] for message in answer.messages if message["event"] == "ceilings"]
    if not found:
        return None
    path = _path(data_dir, machine)
    content = _content(path, machine)
    content["environments"][environment] = found[0]
    write_whole(path, json.dumps(content, indent=1) + "\n")
    return value_from_json(Ceilings, found[0])


def _path(data_dir: Path, machine: str) -> Path:
    return data_dir / "machines" / f"{machine}.json"


def _content(path: Path, machine: str) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        for known in content["environments"].values():
            value_from_json(Ceilings, known)
    except FileNotFoundError:
        return {"format": CEILINGS_FORMAT, "machine": machine, "environments": {}}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise JournalError(
            f"{path}: not a file of ceilings ({error!r}); remove it, and they are measured anew"
        ) from error
    return content
