"""`fusebench advise`, from the question to its answer."""

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
def advise(options: tuple[str, ...]) -> int:
    """Measure a shape, a model's or a module's, and say what to run and why (needs a checkout)."""
    return tower.answered(
        "advise", options, module="benchmarks.ruler.advice.command", measuring=_measuring, answer=_answer
    )


def _measuring(asked: Mapping[str, Any], folder: Path) -> list[str]:
    module = ["--provider-module", asked["provider_module"]] if asked["provider_module"] else []
    return ["--axes", str(folder / "advise.toml"), *module]


def _answer() -> click.Command:
    from results.commands.measuring.advice import advice  # noqa: PLC0415 - needs the store's modules

    return advice
