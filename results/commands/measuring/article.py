"""`fusebench article`: measure its cases, and print them beside what the article saw, with reasons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from results.commands.measuring import tower
from results.commands.measuring.tower import AS_THEY_ARE, passes_on

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@click.command(add_help_option=False, context_settings=AS_THEY_ARE)
@passes_on
def article(options: tuple[str, ...]) -> int:
    """Show what one call of two blocks does inside, and why it takes its time (needs a checkout)."""
    return tower.answered(
        "article", options, module="benchmarks.ruler.article.command", measuring=_measuring, answer=_answer
    )


def _measuring(asked: Mapping[str, Any], folder: Path) -> list[str]:
    del folder  # its axes have a name
    return ["--axes", asked["axes"]]


def _answer() -> click.Command:
    from results.commands.measuring.observations import observations  # noqa: PLC0415 - needs the store's modules

    return observations
