"""What a step of a workflow is given by its runner, and leaves to it: outputs, the summary, messages."""

from __future__ import annotations

import os
from pathlib import Path


def output(name: str, value: str) -> None:
    """Set an output of the step, one line; outside of a workflow print it."""
    _appended("GITHUB_OUTPUT", f"{name}={value}\n") or print(f"{name}={value}")


def summary(markdown: str) -> None:
    """Add to the summary of the step; outside of a workflow print it."""
    _appended("GITHUB_STEP_SUMMARY", f"{markdown}\n") or print(markdown)


def message(level: str, text: str) -> None:
    """Print a message that the run's page shows. level: `error`, `warning` or `notice`."""
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    print(f"::{level} title=fusebench::{escaped}", flush=True)


def _appended(variable: str, text: str) -> bool:
    path = os.environ.get(variable)
    if not path:
        return False
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(text)
    return True
