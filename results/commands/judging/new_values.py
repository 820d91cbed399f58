"""Values that came in → judged before the command that brought them ends, so that whoever asks next only reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.commands.echo import echo
from results.commands.progress import judging_line
from results.upkeep.judged_series import judge_unjudged

if TYPE_CHECKING:
    from results.store import Store


def judge_new_values(store: Store) -> None:
    """Judge every place with values that nobody has judged, each for itself; every value is stored by then.

    Interrupted, it says so: the rest is judged by the next command that brings values, or that asks.
    """
    try:
        with judging_line() as on_place:
            judge_unjudged(store, on_place=on_place)
    except KeyboardInterrupt:
        echo("Every value is stored; what was not judged yet is judged by who asks for it.", err=True)
        raise
