"""How well changes are found in made histories: ours beside asv's and otava's detectors, with seeds and intervals.

    python tools/bench_judgement.py [--series 1000] [--rivals 100] [--seed 1] [--beyond]

Flat histories say how often a detector is wrong, histories with a step how often it finds that after 1, 2, 3 and 5
commits.
otava pins other versions of numpy than ours; a folder of its own serves: pip install --no-deps --target FOLDER
apache-otava, and PYTHONPATH=FOLDER.
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from results.units import percent

sys.path.insert(0, str(Path(__file__).parent.parent))

from simulated_histories import (
    BEYOND,
    BY_NAME,
    COMMON,
    KINDS,
    N_CONTROLS,
    PERCENT,
    Cell,
    Noise,
    with_controls,
    with_step,
)

from results.judgement.changes.alarms import ever_alarmed
from results.judgement.changes.control import common_effect
from results.judgement.changes.detection import changes_in

LEAST_CHANGE = 0.03
COMMITS = 200
AFTER = (1, 2, 3, 5)
Detector = Callable[[np.ndarray], list[list[tuple[int, float]]]]  # [series, commits] → (index, jump) of each series


STEPS = (
    Cell("gauss 1 %", 0.06, 150),
    Cell("gauss 1 %", 0.06, 50),
    Cell("gauss 1 %", 0.06, 20),
    Cell("gauss 1 %", 0.2, 10),
    Cell("gauss 1 %", 0.4, 8),
    Cell("1 % + 2 % outliers ×2–5", 0.06, 150),
    Cell("1 % + 2 % outliers ×1.3", 0.06, 150),
    Cell("3 % + 2 % outliers ×2–5", 0.10, 150),
    Cell("3 % + 2 % outliers ×2–5", 0.10, 50),
    Cell("t3 1 %", 0.06, 150),
    Cell("two levels 30 %", 0.10, 150),
    Cell("walk 0.2 %", 0.06, 150),
    Cell("AR 0.6", 0.06, 150),
)


def ours(x: np.ndarray) -> list[list[tuple[int, float]]]:
    """Return what `fusebench changes` would say of each series, suspicions included, without controls."""
    found: list[list[tuple[int, float]]] = [[] for _ in x]
    for change in changes_in(x, least_change=LEAST_CHANGE):
        found[change.row].append((change.first_bad, change.jump))
    return found


def asvs(x: np.ndarray) -> list[list[tuple[int, float]]]:
    """Return the regressions that asv's pages would list, from the least change on."""
    from asv.step_detect import detect_regressions, detect_steps  # noqa: PLC0415 - needed for this column only

    found = []
    for row in np.exp(x):
        _, _, regressions = detect_regressions(detect_steps(list(row)), threshold=LEAST_CHANGE)
        found.append([(after, math.log(best / value)) for _, after, value, best in regressions or ()])
    return found


def otavas(x: np.ndarray) -> list[list[tuple[int, float]]]:
    """Return otava's change points of at least the least change."""
    compute = importlib.import_module("otava.analysis").compute_change_points
    found = []
    for row in np.exp(x):
        points, _ = compute(list(row), min_magnitude=LEAST_CHANGE)
        found.append([(point.index, math.log1p(point.stats.forward_rel_change())) for point in points])
    return found


def detectors() -> dict[str, Detector]:
    """Return ours and the rivals that are installed; say which are not."""
    found: dict[str, Detector] = {"ours": ours}
    for name, module, detector in (("asv", "asv.step_detect", asvs), ("otava", "otava.analysis", otavas)):
        try:
            importlib.import_module(module)
        except ImportError as error:
            print(f"{name} is left out: {error}")
        else:
            found[name] = detector
    return found


def share(found: Sequence[bool]) -> str:
    """Write a share in percent with its Wilson interval, 95 %."""
    n, p, z = len(found), float(np.mean(found)), 1.96
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = ((middle + sign * half) / (1 + z * z / n) for sign in (-1, 1))
    return f"{100 * p:5.1f} [{100 * max(low, 0):.1f}, {100 * min(high, 1):.1f}]"


def is_found(changes: list[tuple[int, float]], cell: Cell) -> bool:
    """Tell whether the planted step is among the changes, within two commits and in its direction."""
    return any(abs(at - cell.before) <= 2 and jump > 0 for at, jump in changes)


def flat_shares(kind: Noise, detector: Detector, *, n_series: int, seed: int) -> list[bool]:
    """Return for each flat series of COMMITS commits whether anything was found in it."""
    slow, fast = kind.make(np.random.default_rng(seed), n_series, COMMITS)
    return [bool(changes) for changes in detector(slow + fast)]


def controlled_shares(kind: Noise, *, n_series: int, seed: int, per_machine: int = 20) -> list[bool]:
    """Return the same of ours for noise that moves whole machines, given controls."""
    rng = np.random.default_rng(seed)
    found: list[bool] = []
    for _ in range(math.ceil(n_series / per_machine)):
        x, controls = with_controls(kind, rng, n_series=per_machine, n=COMMITS)
        found += [bool(changes) for changes in ours(x - common_effect(controls))]
    return found


def found_shares(cell: Cell, detector: Detector, *, n_series: int, seed: int) -> list[list[bool]]:
    """Return for each of AFTER commits and each series whether the step was found by then."""
    return [
        [
            is_found(changes, cell)
            for changes in detector(
                with_step(cell, np.random.default_rng([seed, after]), n_series=n_series, after=after)
            )
        ]
        for after in AFTER
    ]


def common_mode_shares(*, share_slowed: float, is_common: bool, n_series: int, seed: int) -> list[list[bool]]:
    """Return what is found of +6 % in 1 % where each run of a machine of 100 series moves all by 2 % more, or not.

    As many machines as have about n_series that are slowed.
    """
    cell, found = Cell("gauss 1 %", 0.06, 150), []
    for after in AFTER:
        rng, of_after = np.random.default_rng([seed, after]), []
        for _ in range(max(1, round(n_series / share_slowed / 100))):
            x = with_step(replace(cell, step=0.0), rng, n_series=100, after=after)
            slowed = rng.random(100) < share_slowed
            x[slowed, cell.before :] += np.log1p(cell.step)
            controls = PERCENT * rng.standard_normal((N_CONTROLS, x.shape[1]))
            if is_common:
                run = COMMON * rng.standard_normal(x.shape[1])
                x, controls = x + run, controls + run
                x = x - common_effect(controls)
            of_after += [is_found(changes, cell) for changes in np.array(ours(x), dtype=object)[slowed]]
        found.append(of_after)
    return found


def rate(kind: Noise, detector: Detector, *, n_series: int, seed: int) -> float:
    """Return how many series of COMMITS values one core's second of processor time judges."""
    slow, fast = kind.make(np.random.default_rng(seed), n_series, COMMITS)
    began = time.process_time()
    detector(slow + fast)
    return n_series / (time.process_time() - began)


def report(*, n_series: int, n_rivals: int, seed: int) -> Iterator[str]:
    """Yield the lines of the report."""
    found = detectors()
    sizes = {name: n_series if name == "ours" else n_rivals for name in found}
    yield f"least change {percent(LEAST_CHANGE, digits=0)}; " + ", ".join(
        f"{name}: {n:,} series a cell" for name, n in sizes.items()
    )
    yield f"\nFlat series of {COMMITS} commits in which anything was found, % [95 %]"
    yield _row("noise", list(found))
    for kind in KINDS:
        yield _row(
            kind.name,
            [share(flat_shares(kind, detector, n_series=sizes[name], seed=seed)) for name, detector in found.items()],
        )
    yield "\nThe same given controls (ours only)"
    for kind in KINDS:
        if kind.is_shared:
            yield _row(kind.name, [share(controlled_shares(kind, n_series=n_series, seed=seed))])
    yield f"\nEver alarmed in {COMMITS} commits, the new level (at most five commits) measured twice more (ours only)"
    for kind in KINDS:
        if not kind.is_shared:
            yield _row(kind.name, [share(ever_alarmed_shares(kind, n_series=n_series, seed=seed))])
    yield f"\nStep found after {' / '.join(map(str, AFTER))} commits, % [95 % of the last]"
    yield _row("step", list(found))
    for cell in STEPS:
        texts = [
            _over_commits(found_shares(cell, detector, n_series=sizes[name], seed=seed))
            for name, detector in found.items()
        ]
        yield _row(f"+{percent(cell.step, digits=0)}, {cell.noise}, {cell.before} before", texts)
    common = percent(COMMON, digits=0)
    yield f"\nCommon mode of {common} a run with {N_CONTROLS} controls: +6 % in 1 % found (ours only)"
    for what, slowed, is_common in (
        ("no common mode", 0.1, False),
        ("10 % of ours slow down", 0.1, True),
        ("all of ours slow down", 1.0, True),
    ):
        shares = common_mode_shares(share_slowed=slowed, is_common=is_common, n_series=n_series, seed=seed)
        yield _row(what, [_over_commits(shares)])
    yield "\nSeries of 200 values a second of one core's processor time"
    yield _row("noise", list(found))
    for name in ("gauss 1 %", "drift ±6 %", "sticky second level"):
        rates = [rate(BY_NAME[name], one, n_series=min(sizes[key], 500), seed=seed) for key, one in found.items()]
        yield _row(name, [f"{one:,.0f}" for one in rates])


def report_beyond(*, n_series: int, seed: int) -> Iterator[str]:
    """Yield the lines about kinds of noise in which ours is wrong more often than it should be."""
    yield f"of {n_series:,} flat series of {COMMITS} commits, % [95 %]"
    yield _row("noise", ["anything found", "ever alarmed, measured twice more"])
    for kind in BEYOND:
        shares = (
            flat_shares(kind, ours, n_series=n_series, seed=seed),
            ever_alarmed_shares(kind, n_series=n_series, seed=seed),
        )
        yield _row(kind.name, [share(one) for one in shares])


def ever_alarmed_shares(kind: Noise, *, n_series: int, seed: int, n_commits: int = COMMITS) -> list[bool]:
    """Return for each flat series whether any of its commits was called a change after it was measured again."""
    rng = np.random.default_rng(seed)
    slow, fast = kind.make(rng, n_series, n_commits)

    def again() -> np.ndarray:
        return slow + kind.make(rng, n_series, n_commits)[1]

    return list(ever_alarmed(slow + fast, again, least_change=LEAST_CHANGE))


def _over_commits(found: list[list[bool]]) -> str:
    means = " / ".join(f"{100 * float(np.mean(one)):.1f}" if one else "–" for one in found)
    return f"{means} {share(found[-1])[6:]}" if found[-1] else means


def _row(name: str, texts: Sequence[str]) -> str:
    return f"{name:44}" + "".join(f"{text:>46}" for text in texts)


def main() -> None:
    """Run the bench and print its report."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--series", type=int, default=1000, help="made series a cell for ours")
    parser.add_argument("--rivals", type=int, default=100, help="made series a cell for the slower rivals")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--beyond", action="store_true", help="only kinds of noise in which ours is known to be wrong")
    asked = parser.parse_args()
    lines = (
        report_beyond(n_series=asked.series, seed=asked.seed)
        if asked.beyond
        else report(n_series=asked.series, n_rivals=asked.rivals, seed=asked.seed)
    )
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
