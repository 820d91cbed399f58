"""Options that several commands share."""

from __future__ import annotations

import math
from typing import Any

import click


class NumberRange(click.FloatRange):
    """Number in a range; click's own range lets `nan` through."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401 - as click has it
        """Return `value` as a number of the range. Raises: click.BadParameter."""
        number = float(super().convert(value, param, ctx))
        if math.isnan(number):
            self.fail(f"{value!r} is not a number", param, ctx)
        return number


db_option = click.option(
    "--db",
    metavar="URL",
    help="SQLite path or postgresql://USER@HOST/NAME.  "
    "[default: FUSEBENCH_DB, else fusebench.db in FUSEBENCH_DATA, else results/data/fusebench.db]",
)

judge_option = click.option(
    "--judge/--no-judge",
    default=True,
    help="Look for changes in what has grown, for those who ask later; else who asks first does it.",
)

all_option = click.option(
    "--all", "shows_all", is_flag=True, help="List every row in a text, not only the 20 most important of a kind."
)

where_option = click.option(
    "--where",
    metavar="NAME=VALUE",
    multiple=True,
    help="Only where NAME is VALUE or lies in FROM..TO: any parameter, and project, machine, … May be repeated.",
)
