"""Options that choose what is compared, and the settings they lead to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import click

from benchmarks.ruler.ab.runs import with_ours
from benchmarks.ruler.errors import InvalidSettings, RulerError
from benchmarks.ruler.plan.axes import all_groups
from benchmarks.ruler.plan.axes_files import NAMED_AXES, axes_from_settings
from benchmarks.ruler.plan.filters import refuse_unknown_values, selected
from benchmarks.ruler.plan.points import Operation
from benchmarks.ruler.plan.settings import axes_name, settings_from_environment, words
from benchmarks.ruler.record.provenance import expected_device

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from benchmarks.ruler.plan.settings import Settings

_Command = TypeVar("_Command", bound="Callable[..., object]")
_AXES = f"Points to compare: {', '.join(NAMED_AXES)}, or a file [quick]."


def filter_options(command: _Command) -> _Command:
    """Add the options that choose points to a command."""
    for option in reversed(
        (
            click.option("--axes", metavar="NAME|FILE.toml", help=_AXES),
            click.option("--operation", metavar="NAMES", help="Only these operations, comma-separated."),
            click.option(
                "--provider",
                metavar="NAMES",
                help="Only these providers, and eager  [default: all of ours, or all if the axes have none]",
            ),
            click.option("--dtype", metavar="NAMES", help="Only these dtypes."),
            click.option("--pass", "pass_", metavar="NAMES", help="forward, forward_backward."),
            click.option("--batch", metavar="NUMBERS", help="Only these numbers of rows."),
            click.option("--hidden", metavar="NUMBERS", help="Only these hidden dims."),
        )
    ):
        command = option(command)
    return command


def chosen_settings(axes: str | None, *, no_wait: bool, filters: Mapping[str, str | None], command: str) -> Settings:
    """Return the environment's settings with the options. Raises: RulerError, naming what no point has."""
    settings = settings_from_environment()
    chosen = {name: words(text) for name, text in filters.items() if text is not None}
    settings = replace(
        settings,
        axes=axes_name(axes) if axes else settings.axes,
        filters=replace(settings.filters, **chosen),
        waits_for_lock=settings.waits_for_lock and not no_wait,
        # Two commits share their floors; half a minute a visit where a machine refuses to tell them.
        measures_ceilings=False,
    )
    if settings.is_uncommitted:
        raise InvalidSettings(f"{command} compares commits; FUSEBENCH_UNCOMMITTED=1 asks for what no commit holds")
    settings = with_ours(settings)
    groups = all_groups(axes_from_settings(settings), operations=tuple(Operation), device=expected_device(settings))
    refuse_unknown_values(groups, settings.filters)
    if not selected(groups, settings.filters):
        raise RulerError(f"no point has {settings.filters} together")
    return settings
