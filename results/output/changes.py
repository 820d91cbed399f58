"""Changes of histories → text and JSON; pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from results.judgement.findings import FindingClass, FindingState, Turn
from results.output.findings import finding_as_json
from results.output.terminal import UNLIMITED, Style
from results.output.text_tables import Block, Cell, Column, render_blocks
from results.printable import json_for_terminal
from results.rows import parameters_in_words
from results.units import change_in_words, counted, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from results.judgement.changes.from_histories import PlaceChanges
    from results.judgement.findings import Finding
    from results.output.terminal import Terminal

COLUMNS = (
    Column(name="good..bad"),
    Column(name="benchmark", stack=1),
    Column(name="points", is_right=True, drop=1),
    Column(name="change", is_right=True),
    Column(name="interval", is_right=True, drop=2),
    Column(name="invisible", is_right=True),
    Column(name="worst at", is_note=True),
    Column(name="why", is_note=True),
)
FACTORS = 3
LEGEND = (
    "good..bad: the cause is a commit of this range. invisible: a change so small would not be found there within five "
    "commits. change, interval: of the worst point."
)
OPEN = frozenset({FindingState.CONFIRMED, FindingState.SUSPECTED})


def _is_open(turn: Turn, state: FindingState) -> Callable[[Finding], bool]:
    return lambda one: (
        one.turn is turn and one.state is state and one.class_ not in {FindingClass.MACHINE, FindingClass.NOISE}
    )


SECTIONS: tuple[tuple[str, Callable[[Finding], bool], Style], ...] = (
    ("Slower, suspected: measure this commit again", _is_open(Turn.SLOWER, FindingState.SUSPECTED), Style.DOUBTFUL),
    ("Slower", _is_open(Turn.SLOWER, FindingState.CONFIRMED), Style.BAD),
    (
        "Everything at once: the machine or its software",
        lambda one: one.class_ is FindingClass.MACHINE,
        Style.DOUBTFUL,
    ),
    ("Changed (better direction unknown)", _is_open(Turn.CHANGED, FindingState.CONFIRMED), Style.DOUBTFUL),
    ("Changed, suspected", _is_open(Turn.CHANGED, FindingState.SUSPECTED), Style.DOUBTFUL),
    ("Faster", _is_open(Turn.FASTER, FindingState.CONFIRMED), Style.GOOD),
    ("Faster, suspected", _is_open(Turn.FASTER, FindingState.SUSPECTED), Style.DOUBTFUL),
    ("Acknowledged", lambda one: one.state is FindingState.ACKNOWLEDGED, Style.PLAIN),
    (
        "Levels that were seen before",
        lambda one: one.class_ is FindingClass.NOISE and one.state in OPEN,
        Style.PLAIN,
    ),
    ("Suspicions withdrawn", lambda one: one.state is FindingState.WITHDRAWN, Style.PLAIN),
    (
        "Taken back",
        lambda one: one.state is FindingState.RECOVERED and one.class_ is not FindingClass.MACHINE,
        Style.PLAIN,
    ),
)


def changes_as_text(places: Sequence[PlaceChanges], terminal: Terminal = UNLIMITED, *, limit: int | None = None) -> str:
    """Render the findings of each place: what got slower first, `limit` of a kind."""
    return "\n\n".join("\n\n".join(_of_place(place, terminal, limit=limit)) for place in places)


def _of_place(place: PlaceChanges, terminal: Terminal, *, limit: int | None) -> Iterator[str]:
    control = (
        f"what {place.n_controls} control series share is taken out"
        if place.n_controls
        else "no control series: what moves everything at once is told as one"
    )
    yield terminal.paragraph(
        f"{place.project} on {place.machine}, {place.environment}: {counted(len(place.findings), 'finding')} in "
        f"{place.n_series:,} series over {counted(place.n_commits, 'commit')}; {control}.",
        Style.HEADING,
    )
    blocks, hidden = [], []
    for title, is_in, style in SECTIONS:
        found = [one for one in place.findings if is_in(one)]
        if found:
            shown = found[:limit]
            blocks.append(Block(title=f"{title}:", rows=[_row(one, style) for one in shown]))
            if len(shown) < len(found):
                hidden.append(f"{title}: {len(found) - len(shown):,} more")
    if blocks:
        yield render_blocks(COLUMNS, blocks, terminal)
        yield terminal.paragraph(LEGEND)
    if hidden:
        yield terminal.paragraph(f"{'; '.join(hidden)}. All: --all")


def _row(one: Finding, style: Style) -> tuple[Cell, ...]:
    shared = {parameter.name for parameter in one.surface.shared}
    words = parameters_in_words(one.surface.shared)
    name = "everything" if one.benchmark == "*" else _name(one)
    worst = parameters_in_words(one.points[0], without=shared) if one.points else ""
    return (
        Cell(_range(one)),
        Cell(f"{name} [{words}]" if words else name),
        Cell(f"{len(one.points):,} of {one.n_points:,}" if one.points else ""),
        Cell(_change(one.ratio), style),
        Cell("" if one.interval is None else " to ".join(map(_change, one.interval))),
        Cell("" if not one.floor else f"< {percent(one.floor)}"),
        Cell(f"worst at {worst}" if worst else ""),
        Cell(one.why),
    )


def _name(one: Finding) -> str:
    is_of_sweep = one.metric.endswith(("_s", "_bytes", "_count", "_launches"))
    return f"{one.benchmark} {one.metric}" if is_of_sweep else one.benchmark


def _change(ratio: float | None) -> str:
    """Write a ratio as a change in percent, or as a factor where that is beyond 3."""
    if ratio is None or 1 / FACTORS < ratio < FACTORS:
        return change_in_words(ratio)
    return f"× {ratio:.3g}" if ratio > 1 else f"÷ {1 / ratio:.3g}"


def _range(one: Finding) -> str:
    """Write the range of commits as git does, with the number of those between that nobody measured."""
    unmeasured = f" ({one.n_unmeasured:,} unmeasured)" if one.n_unmeasured else ""
    return f"{(one.last_good or '')[:8]}..{one.first_bad[:8]}{unmeasured}"


def changes_as_json(places: Sequence[PlaceChanges]) -> str:
    """Render every finding as one object in a list, with the places they were looked for in."""
    return json_for_terminal(
        json.dumps(
            {
                "places": [
                    {
                        "project": place.project,
                        "machine": place.machine,
                        "environment": place.environment,
                        "n_series": place.n_series,
                        "n_commits": place.n_commits,
                        "n_controls": place.n_controls,
                    }
                    for place in places
                ],
                "findings": [finding_as_json(one) for place in places for one in place.findings],
            },
            indent=2,
            ensure_ascii=False,
        )
    )
