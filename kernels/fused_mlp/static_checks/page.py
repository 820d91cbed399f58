"""docs/kernels-report.md: the tables, what each was compiled with, and whether a page still says the truth."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fused_mlp.static_checks.table import table_from_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fused_mlp.static_checks.report import Row

_INTRODUCTION = """\
# What the kernels take on a GPU

Written by `python -m fused_mlp.static_checks --write docs/kernels-report.md` and checked by `make kernels-report`, not
by hand. Nothing here was run: each kernel was compiled, in every configuration that its launcher chooses, for a GPU
that need not be there, and the machine code read. Each was compiled with every activation; where a number differs
between them it stands four times, for relu / gelu / gelu_tanh / silu.

- *registers*: per thread, of 255; a kernel that spills does not fit.
- *shared memory*: per block; a block may have 166912 bytes on sm_80, 232448 on sm_90 and on sm_100.
- *tensor memory*: per block, of the 512 columns that a multiprocessor of sm_100 has.
- *key*: what the numbers follow from (source, constants, options, target, tools). What has the same key is not compiled
  again by `make kernels-report`, but for a few drawn at random; `python -m fused_mlp.static_checks --again` does.
- *instructions*: the tensor-core instructions HMMA (one warp's, every generation), HGMMA (four warps', sm_90), UTCHMMA
  (a block's, sm_100), and the asynchronous copies LDGSTS (cp.async), UBLKCP, UTMALDG and UTMASTG (the TMA's).
- *one by one*: ptxas runs Hopper's products one after another instead of several at a time (its message C7515). Such a
  kernel does not fit, unless the reason why that is accepted stands below the table.
"""


@dataclass(frozen=True, kw_only=True)
class Section:
    """One table of the page and the versions of the tools that decide its numbers; no versions: no tools here."""

    title: str
    versions: Mapping[str, str]
    rows: Sequence[Row]

    def __str__(self) -> str:
        named = ", ".join(f"{tool} {version}" for tool, version in self.versions.items())
        accepted = [f"- {reason}" for reason in dict.fromkeys(row.accepted for row in self.rows) if reason]
        reasons = "\n".join(["", "Accepted one by one:", "", *accepted, ""]) if accepted else ""
        return f"## {self.title}\n\nCompiled with: {named or 'nothing'}.\n\n{table_from_rows(self.rows)}\n{reasons}"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """How a committed page differs from today's tables, and which of them could not be compared; in words."""

    differences: list[str]
    not_compared: list[str]


def page_from_sections(sections: Sequence[Section]) -> str:
    """The whole page."""
    return "\n".join([_INTRODUCTION, *map(str, sections)])


def compare(committed: str, sections: Sequence[Section]) -> Comparison:
    """What a committed page says otherwise than today's sections.

    A section made with other versions is not compared: compilers differ, and that says nothing about the kernels.
    """
    pages = dict(re.findall(r"^## (.*)\n((?:(?!## ).*\n?)*)", committed, re.MULTILINE))
    differences, not_compared = [], []
    for section in sections:
        before = pages.get(section.title)
        if before is None:
            differences.append(f"has no section {section.title!r}")
            continue
        made_with, now_with = _made_with(before), _made_with(str(section))
        if made_with != now_with:
            not_compared.append(f"{section.title}: compiled with {made_with} there, with {now_with} here")
            continue
        was, is_now = _numbers(before), _numbers(str(section))
        differences += [f"no longer so: {line}" for line in was if line not in is_now]
        differences += [f"not there: {line}" for line in is_now if line not in was]
    return Comparison(differences=differences, not_compared=not_compared)


def _made_with(section: str) -> str:
    found = re.search(r"^Compiled with: (.*)\.$", section, re.MULTILINE)
    return found.group(1) if found else "unnamed tools"


def _numbers(section: str) -> list[str]:
    # Without the key, which may change where the numbers do not.
    lines = (line for line in section.splitlines() if line.startswith("| sm_"))
    return [line.removesuffix(" |").rpartition(" | ")[0] for line in lines]
