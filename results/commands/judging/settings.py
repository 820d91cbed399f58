"""Settings of a project as the commands that judge use them: its pyproject.toml, and options before it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from results.commands.echo import echo
from results.commands.options import NumberRange
from results.files.settings import PATTERNS, settings_from_file, settings_of
from results.judgement.thresholds import metric_of_row, unmatched, without_effect
from results.metrics import Role
from results.queries import series_where

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from results.files.settings import Settings, Threshold
    from results.rows import SeriesRow, SeriesValueRow
    from results.store import Store

settings_option = click.option(
    "--settings",
    "settings_path",
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="File with [tool.fusebench].  [default: the nearest pyproject.toml, here or above]",
)
least_change_option = click.option(
    "--least-change",
    metavar="FRACTION",
    type=NumberRange(min=0, max=1),
    help="Smallest relative change of a noisy metric that counts where no threshold says otherwise: 0.05 is 5 %.",
)


def chosen_settings(path: Path | None) -> Settings:
    """Read the settings named, else those of the project that the current folder lies in. Raises: InvalidSettings."""
    return settings_of(Path.cwd()) if path is None else settings_from_file(path)


def tell_unmatched(
    settings: Settings, series: Iterable[SeriesRow | SeriesValueRow], *, store: Store | None = None
) -> None:
    """Print each threshold that does nothing: no judged series matches, or none of the kind that it is about.

    store: where `series` are only those of some projects. A threshold that is about series of another one there has
    its use, and nothing is told of it.
    """
    if not settings.thresholds:
        return
    rows = list(series)
    left = unmatched(settings.thresholds, rows)
    if left and store is not None:
        left = unmatched(left, _judged_of_others(store, {row.project for row in rows}))
    for threshold in left:
        echo(f"{settings.path}: threshold {threshold.place} ({_in_words(threshold)}) matches no series here.", err=True)
    for threshold, key in without_effect(settings.thresholds, rows):
        echo(
            f"{settings.path}: threshold {threshold.place} ({_in_words(threshold)}): {_OF_NONE[key]}. It does nothing.",
            err=True,
        )


def _judged_of_others(store: Store, projects: Collection[str]) -> Iterator[SeriesRow]:
    return (
        row for row in series_where(store) if row.project not in projects and metric_of_row(row).role is Role.JUDGED
    )


_OF_NONE = {
    "least_change": "`least_change` is of noisy metrics, as times, and all that it matches are exact: see `tolerance`",
    "tolerance": "`tolerance` is of exact metrics, as counts, and all that it matches are noisy: see `least_change`",
    "better": "`better` is of metrics that tell no direction, and all that it matches tell theirs",
}


def _in_words(threshold: Threshold) -> str:
    patterns = {name: getattr(threshold, name) for name in PATTERNS}
    return ", ".join(f"{name} {pattern}" for name, pattern in patterns.items() if pattern != "*") or "everything"
