"""Simulate comparisons of two commits and print how often the judgement is right: A/A, and steps planted on surfaces.

Run as `python tools/bench_two_commits.py [--comparisons N] [--seed N]`; `make bench-two-commits` does.
"""

from __future__ import annotations

import argparse
import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from results.judgement.comparison.evidence import observe, weigh
from results.judgement.comparison.false_discoveries import Q
from results.judgement.comparison.processes import Pair, Process
from results.judgement.comparison.slow_rounds import with_slow_rounds
from results.judgement.comparison.surfaces import SHARE, compare_surfaces

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_CHANGE = 0.03
SPEED = 0.65
"""Of a slow machine, a share of its best: virtual machines of two speeds were seen to run at 0.6 to 0.7."""


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What is simulated: points in surfaces, each shape with an eager control, measured in rounds by two processes.

    noise: of a series in a process, relative; machine: of all series in a process; local: of a shape in a process,
    control and contenders alike; shared: of all points of a surface of contenders in a process, which eager's part does
    not tell. spread: how the noise differs between series, sd of its log. tails: degrees of freedom of the noise, None
    for normal. step: planted on `n_planted` surfaces. is_paired: A/B in rounds; else each commit has a run of its own,
    with `between_runs` as noise of a series in a run. slow: share of the visits of a shape in which the machine runs at
    `SPEED`, which is seen; a series takes that part of it up, control and contenders alike, but for a share of sd
    `response`, and its noise is `slow_noise` then.
    """

    n_surfaces: int = 25
    n_points: int = 20
    rounds: int = 5
    noise: float = 0.01
    machine: float = 0.02
    local: float = 0.0
    shared: float = 0.0
    spread: float = 0.2
    tails: int | None = None
    step: float = 0.0
    n_planted: int = 2
    is_paired: bool = True
    between_runs: float = 0.0
    has_controls: bool = True
    slow: float = 0.0
    response: float = 0.0
    slow_noise: float = 0.01


@dataclass(frozen=True, kw_only=True)
class Score:
    """Outcome of one comparison, in points: planted, found of these, found where nothing was planted.

    n_surfaces: planted; n_surfaces_found: of these, by a point of it or by all together. A surface that all together
    find where nothing was planted is as false as a point.
    """

    n_planted: int
    n_found: int
    n_false: int
    n_surfaces: int
    n_surfaces_found: int


def pairs_of(scene: Scene, rng: np.random.Generator) -> list[Pair]:
    """Draw one comparison."""
    shape = (2, scene.rounds)
    machine = rng.normal(0, scene.machine, shape)
    locals_ = rng.normal(0, scene.local, (scene.n_points, *shape))
    is_slow = rng.random((scene.n_points, *shape)) < scene.slow
    pairs = []

    def drawn(point: int, shift: float, shared: NDArray[np.float64]) -> tuple[tuple[Process, ...], ...]:
        slow = is_slow[point]
        sd = np.where(slow, scene.slow_noise, scene.noise) * math.exp(rng.normal(0, scene.spread))
        scale = 1.0 if scene.tails is None else math.sqrt((scene.tails - 2) / scene.tails)
        noise = rng.normal(size=shape) if scene.tails is None else rng.standard_t(scene.tails, shape) * scale
        of_run = rng.normal(0, scene.between_runs, (2, 1))
        logs = sd * noise + of_run + machine + locals_[point] + shared + np.array([[0.0], [shift]])
        logs -= slow * math.log(SPEED) * (1 + rng.normal(0, scene.response))
        return tuple(
            tuple(
                Process(
                    run=side,
                    visit=visit,
                    log=float(log),
                    is_disturbed=bool(is_slow_then),
                    is_head=side == "head",
                    speed=SPEED if is_slow_then else 1.0,
                )
                for visit, (log, is_slow_then) in enumerate(zip(each, slow_then, strict=True))
            )
            for side, each, slow_then in zip(("base", "head"), logs, slow, strict=True)
        )

    if scene.has_controls:
        for point in range(scene.n_points):
            base, head = drawn(point, 0.0, np.zeros(shape))
            name = ("eager", point)
            pairs.append(Pair(name=name, testbed="t", surface="eager", base=base, head=head, is_control=True))
    for surface in range(scene.n_surfaces):
        shift = math.log1p(scene.step) if surface < scene.n_planted else 0.0
        shared = rng.normal(0, scene.shared, shape) if scene.shared else np.zeros(shape)
        for point in range(scene.n_points):
            base, head = drawn(point, shift, shared)
            control = ("eager", point) if scene.has_controls else None
            pairs.append(
                Pair(
                    name=(surface, point), testbed="t", surface=surface, base=base, head=head, control=control
                )
            )  # fmt: skip
    return pairs


def score_of(scene: Scene, rng: np.random.Generator, *, q: float = Q) -> Score:
    """Judge one comparison that is drawn here."""
    pairs = pairs_of(scene, rng)
    pairs = with_slow_rounds(pairs) if scene.is_paired else pairs
    has_surfaces = scene.is_paired and scene.has_controls
    observed = observe(pairs, is_paired=scene.is_paired)
    compared = weigh(observed, q=(1 - SHARE) * q if has_surfaces else q)
    planted = found = false = 0
    of_points: set[object] = set()
    for pair, evidence in zip(pairs, compared.evidence, strict=True):
        is_planted = bool(scene.step) and not pair.is_control and pair.surface < scene.n_planted
        is_called = evidence.is_significant and abs(math.log(evidence.ratio)) >= math.log1p(LEAST_CHANGE)
        planted += is_planted
        found += is_planted and is_called
        false += not is_planted and is_called
        if is_planted and is_called:
            of_points.add(pair.surface)
    for one in compare_surfaces(pairs, observed.differences, q=q) if has_surfaces else ():
        surface = one.names[0][0] if isinstance(one.names[0], tuple) else None
        if one.is_significant and abs(math.log(one.ratio)) >= math.log1p(LEAST_CHANGE):
            is_planted = bool(scene.step) and isinstance(surface, int) and surface < scene.n_planted
            of_points.update([surface] if is_planted else [])
            false += not is_planted
    return Score(
        n_planted=planted,
        n_found=found,
        n_false=false,
        n_surfaces=scene.n_planted if scene.step else 0,
        n_surfaces_found=len(of_points),
    )


def interval_of(n_hits: int, n: int) -> str:
    """Write a share with its 95 % interval (Wilson)."""
    if not n:
        return "–"
    share, z = n_hits / n, 1.96
    mid, half = share + z * z / 2 / n, z * math.sqrt(share * (1 - share) / n + z * z / 4 / n / n)
    low, high = ((mid + sign * half) / (1 + z * z / n) for sign in (-1, 1))
    return f"{100 * share:5.1f} % [{100 * max(low, 0):.1f}, {100 * high:.1f}]"


SCENES = {
    "5 rounds, 1 %, machine 2 %": Scene(),
    "3 rounds": Scene(rounds=3),
    "8 rounds": Scene(rounds=8),
    "noise differs fourfold": Scene(spread=0.7),
    "t3 tails": Scene(tails=3),
    "a shape's own drift 1.5 %": Scene(local=0.015),
    "0.5 % that a surface's points share": Scene(shared=0.005),
    "1 % that a surface's points share": Scene(shared=0.01),
    "1 % shared, 3 rounds": Scene(shared=0.01, rounds=3),
    "1 % shared, 11 rounds": Scene(shared=0.01, rounds=11),
    "3 % of 2 surfaces of 60 points shared": Scene(shared=0.03, n_surfaces=2, n_points=60, n_planted=1),
    "half of the visits slow": Scene(slow=0.5),
    "half slow, taken up to 10 %": Scene(slow=0.5, response=0.1),
    "half slow, 5 % noise then": Scene(slow=0.5, slow_noise=0.05),
    "half slow, 5 % noise always": Scene(slow=0.5, noise=0.05, slow_noise=0.05),
    "half slow, 5 % noise, 11 rounds": Scene(slow=0.5, noise=0.05, slow_noise=0.05, rounds=11),
    "one in ten slow, 5 % noise then": Scene(slow=0.1, slow_noise=0.05),
    "no controls, machine 2 %": Scene(has_controls=False),
    "no controls, machine 0.3 %": Scene(has_controls=False, machine=0.003),
    "two runs, 3 visits": Scene(rounds=3, is_paired=False),
    "two runs, 3 visits, 1 % between runs": Scene(rounds=3, is_paired=False, between_runs=0.01),
    "two runs, one process each": Scene(rounds=1, is_paired=False),
}


def main() -> None:
    """Print a line for each scene."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--comparisons", type=int, default=200, help="A/A comparisons of a scene; half as many planted")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED", "0")))
    parser.add_argument("--scene", default="", help="only scenes whose name holds this")
    options = parser.parse_args()
    print(
        "| 500 points in 25 surfaces | A/A with any finding | points of +5 % on 2 surfaces found | of +10 % "
        "| these surfaces: +5 % | +10 % | false share |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, scene in SCENES.items():
        if options.scene not in name:
            continue
        rng = np.random.default_rng([options.seed, *name.encode()])
        n, cells = options.comparisons, []
        equal = [score_of(scene, rng) for _ in range(n)]
        cells.append(interval_of(sum(score.n_false > 0 for score in equal), n))
        shares, surfaces = [], []
        for step in (0.05, 0.1):
            stepped = Scene(**{**vars(scene), "step": step})
            scores = [score_of(stepped, rng) for _ in range(n // 2)]
            cells.append(interval_of(sum(s.n_found for s in scores), sum(s.n_planted for s in scores)))
            surfaces.append(interval_of(sum(s.n_surfaces_found for s in scores), sum(s.n_surfaces for s in scores)))
            shares += [s.n_false / max(1, s.n_false + s.n_found) for s in scores]
        print(
            f"| {name} | {' | '.join([*cells, *surfaces])} | {100 * sum(shares) / max(1, len(shares)):.1f} % |",
            flush=True,
        )


if __name__ == "__main__":
    main()
