"""Options that several commands share."""

from __future__ import annotations

import click

db_option = click.option(
    "--db",
    metavar="URL",
    help="SQLite path or postgresql://USER@HOST/NAME.  [default: FUSEBENCH_DB, else results/data/fusebench.db]",
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
