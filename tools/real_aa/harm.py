"""Do flags follow harm? How far the visits of equal code lie from the undisturbed ones, by how slow the machine was.

Run as `python -m real_aa.harm [FOLDER]` with tools/ on the path, after `make bench-real-aa`, whose journals hold dozens
of visits of each point, or on the journals of one commit that was measured often. Printed are the speedup over eager,
whose calls took turns, and the latency; each visit's is held against the median of its point's undisturbed visits.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from tabulate import tabulate

from results.files.disturbances import is_slowness_alone, least_speed, most_lost
from results.units import percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

JOURNALS = Path(__file__).resolve().parents[2] / "build" / "real-aa" / "data" / "journal"
LEAST_UNDISTURBED = 6  # visits of a point, for its median to be known, unless the command says otherwise
QUANTITIES = ("speedup_vs_eager", "median_s")
FAR = 0.05
HEADS = (
    "visits",
    "number",
    *(f"{name} {of}" for name in ("speedup", "latency") for of in ("shift", "spread", "> 5 %", "least", "most")),
)


def visits_by_point(lines: Iterable[str]) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the visits that have a speedup, by point and by when they were made; lines: of journals."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for line in lines:
        entry = json.loads(line)
        if entry.get("state") == "ok":
            of_point = found.setdefault(json.dumps(entry["point"], sort_keys=True), {})
            for visit in entry.get("visits") or []:
                if visit.get("speedup_vs_eager"):
                    of_point[f"{entry['run']['run_id']} {visit['measured_at']}"] = visit
    return found


def kind_of(visit: dict[str, Any]) -> str:
    """Name what disturbed a visit: nothing, a slow machine alone, time lost to others, each by tenths, or another."""
    told = visit["disturbed"]
    if not told:
        return "undisturbed"
    if is_slowness_alone(told):
        return f"slow, at {_tenth(least_speed(told))} of its best"
    lost = most_lost(told)
    return "disturbed otherwise" if lost is None else f"lost {_tenth(lost)} of the time to others"


def _tenth(share: float) -> str:
    tenth = math.floor(10 * share + 1e-9) / 10
    return f"{percent(tenth, digits=0)} to {percent(tenth + 0.1, digits=0)}"


def shifts(
    points: dict[str, dict[str, dict[str, Any]]], *, least_undisturbed: int = LEAST_UNDISTURBED
) -> dict[str, list[list[float]]]:
    """Return, by kind of visit, the logarithms over the undisturbed median; [visits, quantities]."""
    found: dict[str, list[list[float]]] = {}
    for of_point in points.values():
        calm = [visit for visit in of_point.values() if not visit["disturbed"]]
        if len(calm) >= least_undisturbed:
            usual = [median(math.log(visit[name]) for visit in calm) for name in QUANTITIES]
            for visit in of_point.values():
                moved = [math.log(visit[name]) - middle for name, middle in zip(QUANTITIES, usual, strict=True)]
                found.setdefault(kind_of(visit), []).append(moved)
    return found


def rows_of(found: dict[str, list[list[float]]]) -> Iterator[list[str]]:
    """Yield a row of HEADS for each kind of visit. The spread is a standard deviation by the quartiles."""
    for kind in sorted(found, reverse=True):
        cells = [kind, f"{len(found[kind]):,}"]
        for values in np.array(found[kind]).T:
            low, high = np.quantile(values, [0.25, 0.75])
            numbers = (float(np.median(values)), float(high - low) / 1.349, float(np.mean(np.abs(values) > FAR)))
            cells += [percent(number, digits=2) for number in numbers]
            cells += [f"{math.exp(end):.2f} ×" for end in (float(values.min()), float(values.max()))]
        yield cells


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m real_aa.harm", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=JOURNALS, help="of journals")
    parser.add_argument(
        "--least-undisturbed", type=int, default=LEAST_UNDISTURBED, metavar="N", help="visits of a point that counts"
    )
    options = parser.parse_args()
    folder, least = options.folder, options.least_undisturbed
    lines = (line for path in sorted(folder.rglob("*.jsonl")) for line in path.read_text(encoding="utf-8").splitlines())
    found = shifts(visits_by_point(lines), least_undisturbed=least)
    if not found:
        parser.error(f"no point under {folder} has {least} undisturbed visits: make bench-real-aa first")
    print(tabulate(list(rows_of(found)), HEADS, tablefmt="github", disable_numparse=True))


if __name__ == "__main__":
    main()
