"""What the second halves of `advise` and `article` share: the points they answer by, and how they print."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from results.commands.echo import echo, echo_rendered, terminal_of_output
from results.commands.selected_rows import SelectedPoints, select_rows
from results.commands.selection import selection_from_texts
from results.exit_codes import ExitCode
from results.printable import json_for_terminal
from results.product_libraries import slow_library_in_words
from results.queries import run_conditions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from results.output.terminal import Terminal
    from results.rows import PointRow
    from results.store import Store


def measured_points(store: Store, *, where: Sequence[str], revision: str) -> list[PointRow]:
    """Return the newest row at `revision` of each point that `where` chooses."""
    selected = select_rows(store, selection_from_texts(where))
    return selected.latest(store, revision) if isinstance(selected, SelectedPoints) else []


def slow_libraries(store: Store, rows: Sequence[PointRow]) -> tuple[str, ...]:
    """Return what the libraries of eager's products leave unused on the machine of `rows`, in words, if anything."""
    conditions = run_conditions(store, run_ids={row.run_id for row in rows})
    dtypes = {row.dtype for row in rows}
    found = (slow_library_in_words(each, dtypes) for each in conditions.values())
    return tuple(dict.fromkeys(text for text in found if text))


def nothing_timed(rows: Iterable[PointRow], *, purpose: str) -> int:
    """Print why none of `rows` has a time, and return the exit status of that."""
    reasons = sorted({f"{row.contender}: {row.state}: {row.reason}" for row in rows})
    echo("\n".join([f"Nothing gave a time, so there is nothing to {purpose}.", *reasons]), err=True)
    return ExitCode.NOTHING_COMPARABLE


def print_answer(
    form: str,
    *,
    as_json: Callable[[], Mapping[str, Any]],
    as_markdown: Callable[[], str],
    as_text: Callable[[Terminal], str],
) -> None:
    """Print an answer as `form`: "json", "markdown", or else the terminal's text."""
    match form:
        case "json":
            echo(json_for_terminal(json.dumps(as_json(), indent=1, ensure_ascii=False)))
        case "markdown":
            echo(as_markdown())
        case _:
            echo_rendered(as_text(terminal_of_output()))
