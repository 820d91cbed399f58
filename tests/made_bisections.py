"""A measuring half of `fusebench bisect` that was made up: commits, what each measures, and what was asked of them."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from results.commands.measuring.bisect import bisect

N = 10


def commit(place):
    """Return the hash at a place of the range; 0 is the good end."""
    return f"{place:02x}" * 20


def described(place):
    parent = commit(place - 1) if place else None
    return {
        "hash": commit(place), "parent": parent, "author_date": f"2026-01-{place + 1:02}T00:00:00+00:00",
        "subject": f"Change {place}", "is_merge": False,
    }  # fmt: skip


@dataclass
class World:
    """Commits of which one makes `mlp` slower by `factor`. stops_after: measurements until one is interrupted.

    merged_into: place of what stands for the first parent of the first commit, which merged the good end's branch.
    parents: places of what stands for commits' parents, where that is not the place before.
    """

    journals: object
    data: Path
    culprit: int = 7
    factor: float = 1.1
    noise: float = 0.005
    disturbed: dict = field(default_factory=dict)
    unbuildable: frozenset[int] = frozenset()
    stops_after: int | None = None
    asked: list = field(default_factory=list)
    drawn: dict = field(default_factory=dict)
    filters: str = ""
    merged_into: int | None = None
    parents: dict = field(default_factory=dict)

    def __post_init__(self):
        self.rng = np.random.default_rng(5)
        self.sweep = self.journals.Sweep(providers=("eager", "fused"), ruler_version="3", batches=(1, 16))

    def run(self, command, *_, **__):
        if command[2].endswith("range_command"):
            return self.plan(dict(itertools.pairwise(command)), again="--again" in command)
        return self.measure(command)

    def plan(self, options, *, again):
        question = {
            "good": commit(0), "bad": commit(N), "filters": self.filters, "metric": None, "environment": "e",
        }  # fmt: skip
        candidates = [described(place) for place in range(1, N + 1)]
        for place, parent in self.parents.items():
            candidates[place - 1]["parent"] = commit(parent)
        found = {"good": described(0), "bad": described(N), "candidates": candidates, "n_equal": 3, "n_merges": 1}
        if self.merged_into is not None:  # the first commit merged the branch of the good end into another line
            candidates[0] |= {"parent": commit(self.merged_into), "is_merge": True}
            found["is_good_beside"] = True
        plan = {"question": question, "range": found, "options": ["--axes", "quick"], "again": again}
        Path(options["--out"]).write_text(json.dumps(plan))
        return 0

    def measure(self, command):
        options = dict(itertools.pairwise(command))
        places = [next(place for place in range(N + 1) if commit(place) == word) for word in command if len(word) == 40]
        name, n_rounds = options["--name"], int(options["--rounds"])
        self.asked.append((name.rpartition("-")[2], *places, n_rounds))
        if self.stops_after is not None and len(self.asked) > self.stops_after:
            return 130
        for place in places:
            if place in self.unbuildable:
                told = {"failed": commit(place), "why": f"no wheel could be made of {commit(place)[:12]}:\nSyntaxError"}
                Path(options["--selection"]).write_text(json.dumps(told))
                return 64
        only = json.loads(Path(options["--only"]).read_text()) if "--only" in options else None
        sides = []
        for side, place in zip(("base", "head"), places, strict=True):
            run = f"{name}-{side}"
            sides.append({"commit": commit(place), "run": run, "stack": "present"})
            lines = self.journals.lines_of(replace(self.sweep, commit=commit(place), run_id=run))
            chosen = [line for line in lines if only is None or any(is_of(line["point"], shape) for shape in only)]
            path = self.data / "journal" / "m" / f"{run}-{n_rounds}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(json.dumps(self.visited(line, run, place, n_rounds)) + "\n" for line in chosen))
        Path(options["--selection"]).write_text(json.dumps({"sides": sides}))
        return 0

    def visited(self, line, run, place, n_rounds):
        line["measured_at"] = line["measured_at"].replace(":05:", f":{5 + n_rounds:02}:")
        if line["kind"] != "timing":
            return line
        point = line["point"]
        medians = self.drawn.setdefault((run, *point.values()), [])
        while len(medians) < n_rounds:
            medians.append(line["latency_s"] * float(np.exp(self.rng.normal(0, self.noise))))
        is_slow = place >= self.culprit and (point["provider"], point["operation"]) == ("fused", "mlp")
        factor = self.factor if is_slow else 1
        visits = [{"median_s": factor * one, "n_samples": 6, "measured_at": None, **self.disturbed} for one in medians]
        return line | {"visits": visits, "latency_s": factor * float(np.median(medians))}


def is_of(point, shape):
    return all(point[name] == value for name, value in shape.items())


def bisected(*arguments):
    return CliRunner().invoke(bisect, ["GOOD", "BAD", *arguments], standalone_mode=False)


def found_in(answer):
    assert answer.exception is None, answer.output
    return json.loads(answer.stdout)
