"""Settings of a project as the commands that judge use them: its pyproject.toml, and options before it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from results.commands.echo import echo
from results.commands.options import NumberRange
from results.files.settings import PATTERNS, settings_from_file, settings_of
from results.judgement.thresholds import unmatched, without_effect

if TYPE_CHECKING:
    from collections.abc import Iterable

    from results.files.settings import Settings, Threshold
    from results.rows import SeriesRow, SeriesValueRow

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


def tell_unmatched(settings: Settings, series: Iterable[SeriesRow | SeriesValueRow]) -> None:
    """Print each threshold that does nothing: no judged series matches, or none of the kind that it is about."""
    if not settings.thresholds:
        return
    rows = list(series)
    for threshold in unmatched(settings.thresholds, rows):
        echo(f"{settings.path}: threshold {threshold.place} ({_in_words(threshold)}) matches no series here.", err=True)
    for threshold, key in without_effect(settings.thresholds, rows):
        echo(
            f"{settings.path}: threshold {threshold.place} ({_in_words(threshold)}): {_OF_NONE[key]}. It does nothing.",
            err=True,
        )


_OF_NONE = {
    "least_change": "`least_change` is of noisy metrics, as times, and all that it matches are exact: see `tolerance`",
    "tolerance": "`tolerance` is of exact metrics, as counts, and all that it matches are noisy: see `least_change`",
    "better": "`better` is of metrics that tell no direction, and all that it matches tell theirs",
}


def _in_words(threshold: Threshold) -> str:
    patterns = {name: getattr(threshold, name) for name in PATTERNS}
    return ", ".join(f"{name} {pattern}" for name, pattern in patterns.items() if pattern != "*") or "everything"
