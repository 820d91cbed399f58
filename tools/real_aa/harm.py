"""Do flags follow harm? How far the visits of equal code lie from the undisturbed ones, by how slow the machine was.

Run as `python -m real_aa.harm [FOLDER]` with tools/ on the path, after `make bench-real-aa`: its journals hold dozens
of visits of each point. Printed are the speedup over eager, whose calls took turns, and the latency; each visit's is
held against the median of its point's undisturbed visits.
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

from results.files.disturbances import is_slowness_alone
from results.units import percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

JOURNALS = Path(__file__).resolve().parents[2] / "build" / "real-aa" / "data" / "journal"
LEAST_UNDISTURBED = 6  # visits of a point, for its median to be known
QUANTITIES = ("speedup_vs_eager", "median_s")
FAR = 0.05
HEADS = (
    "visits",
    "number",
    *(f"{name} {of}" for name in ("speedup", "latency") for of in ("shift", "spread", "> 5 %")),
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
    """Name what disturbed a visit: nothing, a slow machine alone by tenths of its best speed, or something else."""
    if not visit["disturbed"]:
        return "undisturbed"
    if not is_slowness_alone(visit["disturbed"]):
        return "disturbed otherwise"
    tenth = math.floor(10 * visit["machine_speed"]) / 10
    return f"slow, at {percent(tenth, digits=0)} to {percent(tenth + 0.1, digits=0)} of its best"


def shifts(points: dict[str, dict[str, dict[str, Any]]]) -> dict[str, list[list[float]]]:
    """Return, by kind of visit, the logarithms over the undisturbed median; [visits, quantities]."""
    found: dict[str, list[list[float]]] = {}
    for of_point in points.values():
        calm = [visit for visit in of_point.values() if not visit["disturbed"]]
        if len(calm) >= LEAST_UNDISTURBED:
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
        yield cells


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m real_aa.harm", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=JOURNALS, help="of journals")
    folder = parser.parse_args().folder
    lines = (line for path in sorted(folder.rglob("*.jsonl")) for line in path.read_text(encoding="utf-8").splitlines())
    found = shifts(visits_by_point(lines))
    if not found:
        parser.error(f"no point under {folder} has {LEAST_UNDISTURBED} undisturbed visits: make bench-real-aa first")
    print(tabulate(list(rows_of(found)), HEADS, tablefmt="github", disable_numparse=True))


if __name__ == "__main__":
    main()
