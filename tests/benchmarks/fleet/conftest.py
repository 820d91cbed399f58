"""Fleets made of journal lines, without a measurement."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from benchmarks.ruler.fleet.folder import host_folder, write_shards
from benchmarks.ruler.fleet.shards import Fleet, planned_shards
from benchmarks.ruler.fleet.sweep_costs import axes_of_fleet, costs_of, groups_by_key
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.record.journal import append
from benchmarks.ruler.record.outcome import State, TimingOutcome
from benchmarks.ruler.record.provenance import RULER_VERSION, Commit

AXES = """
name = "tiny"
operations = ["linear", "mlp"]
providers = ["eager", "fused"]
batches = [4, 8]
hiddens = [32, 64]
budget_s = 0.05
visits = 2
"""


class MadeFleet:
    """A fleet in a folder, whose hosts record what a test says."""

    def __init__(self, folder, timing, profile, *, n_shards, n_commits):
        self.folder, self._timing, self._profile = folder, timing, profile
        self.fleet = Fleet(
            name="0a1b2c3d",
            created_at="2026-01-01T00:00:00+00:00",
            machine="testbox",
            device=DeviceKind.CPU,
            threads=1,
            axes="tiny.toml",
            axes_toml=AXES,
            commits=tuple(Commit(hash=letter * 40, date=None, subject=None) for letter in "abc"[:n_commits]),
            visits=2,
        )
        axes = axes_of_fleet(self.fleet)
        self.known = groups_by_key(self.fleet, axes)
        self.costs = costs_of(self.fleet, axes, self.known)
        self.shards = planned_shards(self.fleet, self.costs, n_shards=n_shards)
        write_shards(folder, self.fleet, self.shards)

    def record(self, host, keys, *, visits=2, commits=None, is_repeat=False, state=State.OK, profiled=True):
        """Let `host` record `keys` with so many visits."""
        for commit in commits or self.fleet.commits:
            run = replace(
                self._timing.head.run,
                run_id=self.fleet.run_id(commit, is_repeat=is_repeat),
                commit=commit.hash,
                machine=self.fleet.machine,
                ruler_version=RULER_VERSION,
            )
            path = host_folder(self.folder, host) / "journal" / "testbox" / f"{commit.hash[:8]}-py3.11-cpu-t1.jsonl"
            for key in keys:
                group = self.known[key]
                for contender in group.contenders:
                    head = replace(self._timing.head, run=run, shape=group.shape, contender=contender)
                    outcome = replace(self._timing.outcome, visits=self._timing.outcome.visits * visits)
                    if state is not State.OK:
                        outcome = TimingOutcome(state=state, reason="as the test says")
                    lines = [replace(self._timing, head=head, outcome=outcome)]
                    if profiled and state is State.OK:
                        lines.append(replace(self._profile, head=head))
                    append(path, lines)


@pytest.fixture
def made_fleet(tmp_path, timing_line, profile_line):
    def make(*, n_shards=2, n_commits=1):
        return MadeFleet(tmp_path / "fleet", timing_line, profile_line, n_shards=n_shards, n_commits=n_commits)

    return make


@pytest.fixture
def silent():
    """A console that keeps what is printed."""
    said = []
    return SimpleNamespace(print=lambda text, **_: said.append(text), said=said)
