"""Compile every kernel in every committed configuration for sm_80 and sm_90, and report what it takes.

With each activation. What stands on the page that it writes or compares with, under a key of the same source,
constants, target and versions, is not compiled again, but for a few drawn at random; --again compiles everything.

--loops prints, instead of tables, how many instructions the longest loop of each kernel has, by activation.

Exits with 1 if one spills, overflows its device or lacks an instruction that it declares, or if the page it is
compared with says something else; with 64 if it is asked wrongly or for what is not there; with 0 otherwise.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fused_mlp.command_line import Parser
from fused_mlp.static_checks import KERNEL_FILES, configurations_of
from fused_mlp.static_checks.page import Comparison, Report, compare, page_from_report
from fused_mlp.static_checks.report import CAPABILITIES, check_triton_kernels, triton_versions
from fused_mlp.static_checks.table import line_from_row, rows_from_table

if TYPE_CHECKING:
    import argparse

    from fused_mlp.static_checks.report import Row


def main(arguments: list[str] | None = None) -> int:
    """Check, then print, write or compare the tables, and name what does not fit; the exit code."""
    parser = _parser()
    chosen = parser.parse_args(arguments)
    _expect_usable(chosen, parser)
    page: Path | None = chosen.write or chosen.compare
    written = page.read_text(encoding="utf-8") if page and page.exists() else ""
    recorded = {} if chosen.again or chosen.loops else rows_from_table(written)
    rows = list(check_triton_kernels((*KERNEL_FILES, *chosen.also), only=chosen.only, recorded=recorded))
    if not rows:
        parser.error(f"--only {chosen.only}: no kernel or configuration has that in its name")
    report = Report(versions=triton_versions(), rows=rows)
    comparison = compare(written, report) if chosen.compare else Comparison(differences=[])
    if chosen.write:
        chosen.write.write_text(page_from_report(report), encoding="utf-8")
    elif chosen.loops:
        _print("\n".join(map(_loops, rows)))
    elif not chosen.compare:
        _print(str(report))
    if comparison.why_not:
        _print(f"{page}: not compared: {comparison.why_not}")
    for words in comparison.differences:
        _print(f"{page}: {words}")
    if comparison.differences:
        _print(f"{page} is out of date: python -m fused_mlp.static_checks --write {page}")
    faulty = [row for row in rows if row.faults]
    n_recorded = sum(row.is_recorded for row in rows)
    _print(f"{len(rows) - n_recorded} compiled, {n_recorded} on the page unchanged")
    _print(f"{len(rows) - len(faulty)} fit, {len(faulty)} do not")
    for row in faulty:
        _print(line_from_row(row))
    return int(bool(faulty or comparison.differences))


def _expect_usable(chosen: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Exit with an error before minutes of compiling, if what is named is not there."""
    if chosen.write and chosen.write.is_dir():
        parser.error(f"--write {chosen.write}: it is a folder; name a page in it")
    if chosen.write and not chosen.write.parent.is_dir():
        parser.error(f"--write {chosen.write}: there is no folder {chosen.write.parent}")
    if chosen.compare and not chosen.compare.is_file():
        parser.error(f"--compare {chosen.compare}: there is no such page; --write makes one")
    for offer in chosen.also:
        try:
            configurations_of(offer, capability=CAPABILITIES[0])
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            parser.error(f"--also {offer}: {error}")


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="python -m fused_mlp.static_checks", description=__doc__)
    parser.add_argument("--only", metavar="TEXT", default="", help="kernels and configurations whose name holds TEXT")
    parser.add_argument(
        "--also", metavar="MODULE[:FUNCTION]", action="append", default=[], help="further configurations to check"
    )
    parser.add_argument("--again", action="store_true", help="compile also what stands on the page unchanged")
    outcome = parser.add_mutually_exclusive_group()
    outcome.add_argument("--write", metavar="PAGE", type=Path, help="write the table to PAGE instead of printing it")
    outcome.add_argument("--compare", metavar="PAGE", type=Path, help="fail if PAGE says something else")
    outcome.add_argument("--loops", action="store_true", help="count the instructions of the longest loops instead")
    return parser


def _loops(row: Row) -> str:
    return f"{row.target} {row.kernel}: {' / '.join(str(used.longest_loop) for used in row.footprints)} instructions"


def _print(line: str) -> None:
    print(line)  # noqa: T201 - this is a command


if __name__ == "__main__":
    sys.exit(main())
