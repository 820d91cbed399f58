"""The part of a judgement that `--where` asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.commands.selection import SERIES_FIELDS, selection_from_texts, series_filter_from
from results.errors import UnknownParameter
from results.queries import all_values_at, parameter_names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from results.commands.selection import Selection
    from results.judgement.outcomes import Judgement
    from results.store import Store

NOTHING = "Nothing measured at {base} or {head} matches the selection."


def selection_of_series(texts: Iterable[str]) -> Selection:
    """Parse a selection of series: they have another state at each commit, so none has one to be chosen by.

    Raises: UnknownParameter.
    """
    selection = selection_from_texts(texts)
    if state := selection.texts.get("state"):
        raise UnknownParameter(
            f"state={state[0]}: a series has a state at each commit, so this command chooses by none; leave it out. "
            f"`fusebench show --where state={state[0]}` lists what has it"
        )
    return selection


def asked_of(store: Store, judgement: Judgement, selection: Selection) -> Judgement | None:
    """Return the judgement of the series that `selection` takes; None where neither commit measured one of them.

    All series are judged before, so that a part is judged as the whole is. Raises: UnknownParameter.
    """
    if not selection.without("state"):
        return judgement
    chosen = series_filter_from(selection, parameters=parameter_names(store))
    commits = (judgement.base_commit, judgement.head_commit)
    asked = {row.series_id for commit in commits for row in all_values_at(store, commit=commit, **chosen)}
    return judgement.only(asked) if asked else None


def nothing_asked(judgement: Judgement, selection: Selection) -> str:
    """Return what is told where neither commit measured what was asked for."""
    told = NOTHING.format(base=judgement.base_commit[:8], head=judgement.head_commit[:8])
    return told + about_patterns(selection)


def about_patterns(selection: Selection) -> str:
    """Return a hint where a name that is asked for looks like a pattern, of which --where knows none; else nothing."""
    texts = (text for name, texts in selection.texts.items() if name in SERIES_FIELDS for text in texts)
    pattern = next((text for text in texts if "*" in text), None)
    return f" --where takes whole names, no patterns: `{pattern}` was looked for as it is." if pattern else ""
