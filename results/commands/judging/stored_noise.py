"""Noise of a stored commit, printed: the second half of `fusebench noise`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.commands.echo import echo, echo_rendered, terminal_of_output
from results.commands.judging.asked_series import selection_of_series
from results.commands.no_data import EMPTY_STORE, not_measured, nothing_to_show
from results.commands.selection import series_filter_from
from results.errors import UnknownRevision
from results.exit_codes import ExitCode
from results.output.reports.noise_report import noise_as_json, noise_as_text
from results.output.text_tables import MANY
from results.queries import commits, noise_at, parameter_names
from results.questions.revisions import commit_of
from results.store import OpenMode, open_store

if TYPE_CHECKING:
    from collections.abc import Sequence

NOTHING = (
    "No time is stored for this selection at {commit}: `fusebench status` lists what is, `fusebench noise` measures."
)


def print_noise(
    revision: str | None, where: Sequence[str], db: str | None, noise_format: str, *, shows_all: bool
) -> int:
    """Print the noise of the points that `where` chooses at a commit, the newest stored one by default.

    shows_all: whether a text lists every surface, not only the noisiest ones.
    """
    selection = selection_of_series(where)
    with open_store(db, mode=OpenMode.READ) as store:
        stored = commits(store)
        if not stored:
            return nothing_to_show(EMPTY_STORE)
        chosen = series_filter_from(selection, parameters=parameter_names(store))
        try:
            commit = stored[-1].commit if revision is None else commit_of(store, revision)
        except UnknownRevision as error:
            return not_measured(store, error)
        noise = noise_at(store, commit=commit, **chosen)
        if not noise.surfaces:
            return nothing_to_show(NOTHING.format(commit=commit[:8]))
        if noise_format == "json":
            echo(noise_as_json(noise))
        else:
            echo_rendered(noise_as_text(noise, terminal_of_output(), limit=None if shows_all else MANY))
    return ExitCode.FINE
