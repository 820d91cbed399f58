"""Page docs/kernels-report.md: its text, and its comparison with a report."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fused_mlp.activations import Activation
from fused_mlp.static_checks.table import table_from_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fused_mlp.static_checks.report import Row

_INTRODUCTION = f"""\
# What the kernels take on a GPU

Written by `python -m fused_mlp.static_checks --write docs/kernels-report.md` and checked by `make kernels-report`, not
by hand. Nothing here was run: each kernel was compiled, in every configuration that its launcher chooses, for a GPU
that need not be there, and the machine code read. Each was compiled with every activation; where a number differs
between them it stands once for each of {" / ".join(Activation)}.

- *registers*: per thread, of 255; a kernel that spills does not fit.
- *shared memory*: per block; a block may have 166912 bytes on sm_80, 232448 on sm_90.
- *key*: what the numbers follow from (source, constants, options, target, tools). What has the same key is not compiled
  again by `make kernels-report`, but for a few drawn at random; `python -m fused_mlp.static_checks --again` does.
- *instructions*: the tensor-core instructions HMMA (one warp's, every generation) and HGMMA (four warps', sm_90), and
  the asynchronous copies LDGSTS (cp.async), UBLKCP, UTMALDG and UTMASTG (the TMA's).
- *one by one*: ptxas runs Hopper's products one after another instead of several at a time (its message C7515). Such a
  kernel does not fit, unless the reason why that is accepted stands below the table.
"""


@dataclass(frozen=True, kw_only=True)
class Report:
    """Every row, and the versions of the tools that decide its numbers."""

    versions: Mapping[str, str]
    rows: Sequence[Row]

    def __str__(self) -> str:
        named = ", ".join(f"{tool} {version}" for tool, version in self.versions.items())
        accepted = [f"- {reason}" for reason in dict.fromkeys(row.accepted for row in self.rows) if reason]
        reasons = "\n".join(["", "Accepted one by one:", "", *accepted, ""]) if accepted else ""
        return f"Compiled with: {named}.\n\n{table_from_rows(self.rows)}\n{reasons}"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Differences between a committed page and a report, in words; why_not: why they could not be compared."""

    differences: list[str]
    why_not: str = ""


def page_from_report(report: Report) -> str:
    """Return the whole page."""
    return f"{_INTRODUCTION}\n{report}"


def compare(committed: str, report: Report) -> Comparison:
    """Return what a committed page says otherwise than `report`.

    A page made with other versions is not compared: compilers differ, and that says nothing about the kernels.
    """
    made_with, now_with = _made_with(committed), _made_with(str(report))
    if made_with != now_with:
        return Comparison(differences=[], why_not=f"compiled with {made_with} there, with {now_with} here")
    was, is_now = _numbers(committed), _numbers(str(report))
    return Comparison(
        differences=[
            *(f"no longer so: {line}" for line in was if line not in is_now),
            *(f"not there: {line}" for line in is_now if line not in was),
        ]
    )


def _made_with(page: str) -> str:
    found = re.search(r"^Compiled with: (.*)\.$", page, re.MULTILINE)
    return found.group(1) if found else "unnamed tools"


def _numbers(page: str) -> list[str]:
    # Without the key, which may change where the numbers do not.
    lines = (line for line in page.splitlines() if line.startswith("| sm_"))
    return [line.removesuffix(" |").rpartition(" | ")[0] for line in lines]
