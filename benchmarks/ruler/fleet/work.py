"""Work on a shard: what `run` does, for the shard's groups and commits, into the host's own folder of record."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.ruler.commits.visit_process import made_visit
from benchmarks.ruler.exit_codes import ExitCode
from benchmarks.ruler.fleet.admission import unfit_hosts
from benchmarks.ruler.fleet.folder import host_folder, hosts_of, named_if_unwritable
from benchmarks.ruler.fleet.recorded import record_of_host
from benchmarks.ruler.fleet.sweep_costs import axes_of_fleet, groups_by_key, groups_of_shard
from benchmarks.ruler.record.codec import json_from_value
from benchmarks.ruler.record.durable import write_whole
from benchmarks.ruler.record.provenance import is_editable, measured_commit, refuse_uncommitted_changes
from benchmarks.ruler.sweep.run import run_directly
from benchmarks.ruler.sweep.summary import announce, sum_up
from benchmarks.ruler.sweep.sweep_plan import plan_sweep

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from benchmarks.ruler.fleet.host import Host
    from benchmarks.ruler.fleet.shards import Fleet, Shard
    from benchmarks.ruler.plan.axes import Axes
    from benchmarks.ruler.plan.points import Group
    from benchmarks.ruler.plan.settings import Settings
    from benchmarks.ruler.record.provenance import Commit


@dataclass(frozen=True, kw_only=True)
class Work:
    """Shard on its way on a host. folder: the fleet's, as this host sees it. settings: those of the host's runs."""

    shard: Shard
    folder: Path
    host: Host
    settings: Settings
    axes: Axes
    known: Mapping[str, Group]

    @property
    def fleet(self) -> Fleet:
        """Fleet that the shard is of."""
        return self.shard.fleet

    def keys_left(self, *, is_repeat: bool) -> tuple[str, ...]:
        """Return the shard's groups that no fit host has completed, in order, or its repeats.

        A group that was begun elsewhere is begun anew here: it is never split. A repeat is for a host that did not
        measure the group itself.
        """
        found: set[str] = set()
        unfit = unfit_hosts(self.folder, tolerance=self.fleet.tolerance)
        for name in (name for name in hosts_of(self.folder) if name not in unfit):
            record = record_of_host(self.folder, name, self.fleet)
            complete = record.complete(self.fleet, self.known, is_repeat=is_repeat)
            # Repeated before the same host came to the group itself, it says nothing of a second one.
            found |= complete - record.begun(self.fleet) if is_repeat else complete
            if is_repeat and name == host_folder(self.folder, self.host.name).name:
                found |= record.begun(self.fleet)
        keys = self.shard.repeats if is_repeat else self.shard.groups
        return tuple(key for key in keys if key not in found)


def begun_work(shard: Shard, folder: Path, host: Host, settings: Settings, *, is_shared: bool) -> Work:
    """Return the work on `shard` on this host.

    Raises: InvalidAxes if this checkout has other groups; UncommittedChanges; InvalidShard.
    """
    fleet, own = shard.fleet, host_folder(folder, host.name)
    axes_name = fleet.axes
    if fleet.axes_toml is not None:
        _write(own / "axes.toml", fleet.axes_toml)
        axes_name = str(own / "axes.toml")
    module = None
    if fleet.provider_module is not None:
        module = own / fleet.provider_module.name
        _write(module, fleet.provider_module.text)
    settings = replace(
        settings,
        data_dir=own,
        axes=axes_name,
        provider_module=module,
        filters=fleet.filters,
        machine=fleet.machine,
        device=fleet.device,
        threads=fleet.threads,
        conditions=(*settings.conditions, *host.conditions(is_shared=is_shared)),
    )
    if _is_checked_out(fleet, settings):
        refuse_uncommitted_changes(settings)  # before minutes of calibration
    axes = axes_of_fleet(fleet)
    known = groups_by_key(fleet, axes)
    groups_of_shard(shard, known, [*shard.groups, *shard.repeats])
    return Work(shard=shard, folder=folder, host=host, settings=settings, axes=axes, known=known)


def _write(path: Path, text: str) -> None:
    with named_if_unwritable(path):
        write_whole(path, text)


def measured(work: Work, console: Console) -> int:
    """Measure what is left of the shard, then its repeats; return the exit code. The caller holds the machine's lock.

    Raises: RulerError.
    """
    codes = []
    for is_repeat in (False, True):
        keys = work.keys_left(is_repeat=is_repeat)
        n_planned = len(work.shard.repeats if is_repeat else work.shard.groups)
        what = "groups of other hosts" if is_repeat else "groups"
        if n_planned:
            console.print(f"shard {work.shard.name}: {len(keys)} of {n_planned} {what} to measure", markup=False)
        if keys:
            groups = groups_of_shard(work.shard, work.known, keys)
            codes.append(_measured_groups(work, groups, console, is_repeat=is_repeat))
    return max(codes, default=ExitCode.FINE)


def _is_checked_out(fleet: Fleet, settings: Settings) -> bool:
    """Return whether the fleet measures one commit, and this checkout has it."""
    return len(fleet.commits) == 1 and is_editable() and measured_commit(settings).hash == fleet.commits[0].hash


def _measured_groups(work: Work, groups: Sequence[Group], console: Console, *, is_repeat: bool) -> int:
    if _is_checked_out(work.fleet, work.settings):
        return _measured_directly(work, groups, console, is_repeat=is_repeat)
    _measure_rounds(work, groups, console, is_repeat=is_repeat)
    return ExitCode.FINE


def _measured_directly(work: Work, groups: Sequence[Group], console: Console, *, is_repeat: bool) -> int:
    """Measure the checked-out commit, as `run` does."""
    commit = work.fleet.commits[0]
    settings = replace(work.settings, run_id=work.fleet.run_id(commit, is_repeat=is_repeat), commit=commit.hash)
    refuse_uncommitted_changes(settings)
    sweep, reader = plan_sweep(settings, work.axes, device=work.fleet.device)
    # One run on several hosts has one start.
    run = replace(sweep.plan.run, started_at=work.fleet.created_at)
    sweep = replace(sweep, plan=replace(sweep.plan, groups=tuple(groups), run=run))
    announce(console, sweep, settings)
    return sum_up(console, run_directly(console, settings, sweep, reader), None, settings)


def _measure_rounds(work: Work, groups: Sequence[Group], console: Console, *, is_repeat: bool) -> None:
    """Visit the groups with each commit's kernels through its wheel, in turn: base and head in the same minutes.

    Every other round begins with the last commit, as in `ab`.
    """
    say = partial(console.print, markup=False, highlight=False)
    n_visits = work.fleet.visits
    with tempfile.TemporaryDirectory() as name:
        only, first = Path(name, "shapes.json"), Path(name, "first.json")
        only.write_text(json.dumps([_stored(group) for group in groups]), encoding="utf-8")
        first.write_text(json.dumps([_stored(groups[0])]), encoding="utf-8")
        sides: list[tuple[Commit, Settings, str]] = [
            (commit, replace(work.settings, run_id=work.fleet.run_id(commit, is_repeat=is_repeat)), commit.hash[:8])
            for commit in work.fleet.commits
        ]
        for commit, settings, label in sides:
            # Builds the wheel, and compiles its C++, for which no visit shall wait.
            said = made_visit(commit, settings, n_visits=1, label=label, options=["--check", "--only", str(first)])
            say(f"{label}: wheel checked, {said.strip()}")
        for number in range(1, n_visits + 1):
            for commit, settings, label in sides if number % 2 else sides[::-1]:
                of_visit = replace(settings, last_visit=number)
                said = made_visit(commit, of_visit, n_visits=n_visits, label=label, options=["--only", str(only)])
                say(f"round {number} of {n_visits}, {label}: {said.splitlines()[-1]}")


def _stored(group: Group) -> dict[str, object]:
    """Return a group's shape as a visit is asked for it."""
    found = json_from_value(group.shape)
    return {"pass" if name == "pass_" else name: value for name, value in found.items()}
