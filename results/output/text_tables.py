"""Text tables that fit the terminal: columns are left out or stacked, a cell is never wrapped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from results.output.terminal import INDENT, Style
from results.printable import printable_line
from results.units import ABSENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from results.output.terminal import Terminal

GAP = "  "
MANY = 20  # rows of a kind that a text lists unless all are asked for


class Cell(NamedTuple):
    """Text of one cell and its colour."""

    text: str
    style: Style = Style.PLAIN


@dataclass(frozen=True, kw_only=True)
class Column:
    """Heading of a column and what becomes of it where the table is too wide.

    drop: columns are left out from the highest number down; 0 is kept. stack: columns are put on a line of their own
    above the row from the lowest number up; 0 stays in the row. is_note: put on a line of its own below the row.
    """

    name: str
    is_right: bool = False
    drop: int = 0
    stack: int = 0
    is_note: bool = False


@dataclass(frozen=True, kw_only=True)
class Block:
    """Rows below one heading."""

    title: str
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True, kw_only=True)
class _Layout:
    """Indices of the columns in the row, above it and below it."""

    inside: list[int]
    above: list[int]
    below: list[int]


def render_blocks(columns: Sequence[Column], blocks: Sequence[Block], terminal: Terminal) -> str:
    """Render the blocks with the same columns and widths in each; a column that is empty everywhere is left out."""
    clean = [[[Cell(printable_line(text), style) for text, style in row] for row in block.rows] for block in blocks]
    rows = [row for block in clean for row in block]
    filled = [i for i in range(len(columns)) if any(row[i].text not in {"", ABSENT} for row in rows)]
    widths = [
        max([cell_len(column.name), *(cell_len(row[i].text) for row in rows)]) for i, column in enumerate(columns)
    ]
    layout = _layout(columns, widths, filled, terminal.width)
    return "\n\n".join(
        "\n".join(_block_lines(block.title, cells, columns, widths, layout, terminal))
        for block, cells in zip(blocks, clean, strict=True)
    )


def _layout(columns: Sequence[Column], widths: Sequence[int], filled: list[int], width: int | None) -> _Layout:
    """Find the layout that leaves out and stacks the fewest columns and fits; the narrowest if none fits.

    Notes go below their rows before a column is left out for them.
    """
    notes = [i for i in filled if columns[i].is_note]
    layout = _Layout(inside=filled, above=[], below=[])
    for stacked in range(1 + max(columns[i].stack for i in filled)):
        above = [i for i in filled if 0 < columns[i].stack <= stacked]
        for kept in range(max(columns[i].drop for i in filled), -1, -1):
            for below in ([], notes):
                inside = [i for i in filled if columns[i].drop <= kept and i not in {*above, *below}]
                layout = _Layout(inside=inside, above=above, below=below)
                total = sum(widths[i] for i in inside) + len(GAP) * (len(inside) - 1)
                if width is None or total <= width:
                    return layout
    return layout


def _block_lines(  # noqa: PLR0913, PLR0917 - the parts of one table
    title: str,
    rows: Sequence[Sequence[Cell]],
    columns: Sequence[Column],
    widths: Sequence[int],
    layout: _Layout,
    terminal: Terminal,
) -> Iterable[str]:
    if title:
        yield terminal.paragraph(title, Style.HEADING)
    yield _aligned([Cell(column.name) for column in columns], columns, widths, layout, terminal)
    yield GAP.join("-" * widths[i] for i in layout.inside)
    before = None
    for row in rows:
        above = [row[i].text for i in layout.above if row[i].text]
        if above and above != before:
            yield terminal.paragraph(", ".join(above), Style.HEADING)
        before = above
        yield _aligned(row, columns, widths, layout, terminal)
        for i in layout.below:
            if row[i].text:
                yield terminal.paragraph(row[i].text, row[i].style, indent=INDENT)


def _aligned(
    row: Sequence[Cell], columns: Sequence[Column], widths: Sequence[int], layout: _Layout, terminal: Terminal
) -> str:
    cells = []
    for i in layout.inside:
        padding = " " * (widths[i] - cell_len(row[i].text))
        text = terminal.styled(row[i].text, row[i].style)
        cells.append(padding + text if columns[i].is_right else text + padding)
    return GAP.join(cells).rstrip()
