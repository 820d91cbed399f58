"""Figures of a measurement, and the machine's pace beside them."""

from __future__ import annotations

import json
import statistics
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tabulate import tabulate

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Figures:
    """Measured figures by line and column of a table; each is printed as it comes."""

    cells: dict[str, dict[str, str]] = field(default_factory=dict)

    def add(self, line: str, column: str, text: str) -> None:
        """Keep and print one figure."""
        self.cells.setdefault(line, {})[column] = text
        print(f"  {column}: {line}: {text}", file=sys.stderr)

    def table(self) -> str:
        """Return a line for each figure and a column for each database or command."""
        columns = list(dict.fromkeys(column for cells in self.cells.values() for column in cells))
        rows = [[line, *(cells.get(column, "–") for column in columns)] for line, cells in self.cells.items()]
        return tabulate(rows, headers=["", *columns], disable_numparse=True)


def pace_s() -> float:
    """Return the CPU seconds of a fixed piece of work: a slow machine or moment shows in it."""
    text = json.dumps([[i, str(i), i / 7, None] for i in range(2_000)])
    took = []
    for _ in range(25):
        used = time.process_time()
        {row[0]: tuple(row) for row in json.loads(text)}
        took.append(time.process_time() - used)
    return statistics.median(took)


@contextmanager
def paced(figures: Figures, line: str, column: str) -> Iterator[None]:
    """Keep the pace of the machine before and after what is measured inside."""
    before = pace_s()
    yield
    figures.add(f"{line}: fixed work before, after", column, f"{before * 1e3:.2f}, {pace_s() * 1e3:.2f} ms CPU")
