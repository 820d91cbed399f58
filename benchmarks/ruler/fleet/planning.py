"""Plan of a fleet from options: what its shards share, the groups they get, and what is planned again."""

from __future__ import annotations

import shlex
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.ruler.errors import InvalidAxes, InvalidProviderModule, InvalidSettings
from benchmarks.ruler.expectation.declarations import OURS
from benchmarks.ruler.fleet.host import this_host
from benchmarks.ruler.fleet.shards import Fleet, ProviderModule, Shard, planned_shards
from benchmarks.ruler.fleet.sweep_costs import axes_of_fleet, costs_of, groups_by_key
from benchmarks.ruler.plan.axes_files import axes_from_settings
from benchmarks.ruler.plan.filters import Filters
from benchmarks.ruler.plan.plugins import names_in_module, refuse_broken_module, refuse_taken_names
from benchmarks.ruler.plan.points import DeviceKind
from benchmarks.ruler.plan.settings import axes_name
from benchmarks.ruler.record.journal import now
from benchmarks.ruler.record.provenance import commit_from_git, expected_device, git_output
from benchmarks.ruler.sweep.progress import text_from_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.ruler.fleet.reading import FleetState
    from benchmarks.ruler.plan.settings import Settings
    from benchmarks.ruler.record.provenance import Commit


def fleet_from_options(  # noqa: PLR0913 - the options
    settings: Settings,
    *,
    name: str,
    axes: str,
    commits: str | None,
    machine: str | None,
    device: str | None,
    threads: int | None,
    visits: int | None,
    tolerance: float,
    provider_module: Path | None,
    filters: Mapping[str, tuple[str, ...]],
) -> Fleet:
    """Return what all shards share. Raises: RulerError, naming the option."""
    named = axes_name(axes)
    kind = DeviceKind(device) if device else expected_device(settings)
    if device and machine is None and kind is not expected_device(settings):
        raise InvalidSettings(
            f"--device {kind}: this host has none, so --machine has to name the class of those that do"
        )
    found = axes_from_settings(replace(settings, axes=named))
    return Fleet(
        name=name,
        created_at=now(),
        machine=machine or settings.machine or this_host(settings, kind).kind.name(),
        device=kind,
        threads=threads or settings.threads,
        axes=found.name if not named.endswith(".toml") else named,
        axes_toml=Path(named).read_text(encoding="utf-8") if named.endswith(".toml") else None,
        provider_module=_carried(provider_module or settings.provider_module),
        commits=commits_from_text(commits or "HEAD"),
        filters=Filters(**filters),
        visits=visits or found.visits,
        tolerance=tolerance,
    )


def _carried(module: Path | None) -> ProviderModule | None:
    """Return the module as it travels with the shards, tried where no file lies beside it, as on a host.

    Raises: InvalidProviderModule.
    """
    if module is None:
        return None
    names = names_in_module(module)
    refuse_taken_names(module, OURS)
    with tempfile.TemporaryDirectory() as folder:
        alone = Path(folder, module.name)
        alone.write_bytes(module.read_bytes())
        try:
            refuse_broken_module(alone)
        except InvalidProviderModule as error:
            what = str(error).replace(str(alone), str(module))
            raise InvalidProviderModule(f"{what}; it travels alone, without the files that lie beside it") from None
    return ProviderModule(name=module.name, text=module.read_text(encoding="utf-8"), names=names)


def commits_from_text(text: str) -> tuple[Commit, ...]:
    """Return the commits of `a,b,c`, or of `BASE..HEAD`, both included. Raises: UnknownCommit."""
    revisions = [each.strip() for each in text.split(",")]
    if len(revisions) == 1 and ".." in text:
        base, _, head = text.partition("..")
        first, last = commit_from_git(base), commit_from_git(head or "HEAD")
        between = (git_output("rev-list", "--reverse", "--first-parent", f"{first.hash}..{last.hash}") or "").split()
        revisions = [first.hash, *between]
    found = [commit_from_git(each) for each in revisions]
    if len({commit.hash for commit in found}) < len(found):
        raise InvalidSettings(f"--commits {text}: names a commit twice; each is measured once")
    return tuple(found)


def costs_of_fleet(fleet: Fleet) -> dict[str, float]:
    """Return the seconds that each group of a fleet is expected to take, by its key. Raises: InvalidAxes."""
    axes = axes_of_fleet(fleet)
    return costs_of(fleet, axes, groups_by_key(fleet, axes))


def shards_again(state: FleetState, *, n_shards: int) -> tuple[Shard, ...]:
    """Return new shards of the groups that are neither done nor being measured. Raises: InvalidAxes if none is."""
    missing = state.status().missing
    if not missing:
        raise InvalidAxes(f"{state.folder}: no group is missing; `fusebench fleet status` shows what runs still")
    first = 1 + max(shard.number for shard in state.shards)
    costs = {key: state.costs[key] for key in missing}
    # Which groups a second host repeats was planned once.
    return tuple(
        replace(each, repeats=()) for each in planned_shards(state.fleet, costs, n_shards=n_shards, first=first)
    )


def refuse_beside_missing(given: Sequence[str]) -> None:
    """Refuse options, by their parameters' names, that the fleet's own plan has decided. Raises: InvalidSettings."""
    decided = [f"--{name.rstrip('_')}" for name in given if name not in {"missing", "n_shards"}]
    if decided:
        raise InvalidSettings(
            f"--missing and {', '.join(decided)}: what is missing is planned as the fleet was; leave out {decided[0]}, "
            "or plan another fleet"
        )


def refuse_other_plan(folder: Path) -> None:
    """Refuse a folder that holds a plan: its hosts' records are of that one. Raises: InvalidSettings."""
    if (folder / "fleet.json").exists():
        raise InvalidSettings(
            f"{folder}: holds a fleet's plan already; name another folder with --out, or plan what is missing "
            f"of this one with --missing {folder}"
        )


def announcement(folder: Path, fleet: Fleet, shards: Sequence[Shard], costs: Mapping[str, float]) -> list[str]:
    """Return what is planned, in words. costs: of each group, in seconds."""
    loads = [sum(costs[key] for key in (*shard.groups, *shard.repeats)) for shard in shards]
    n_groups, n_repeats = sum(len(shard.groups) for shard in shards), sum(len(shard.repeats) for shard in shards)
    commits = ", ".join(commit.hash[:8] for commit in fleet.commits[:3])
    more = f" and {len(fleet.commits) - 3} more" if len(fleet.commits) > 3 else ""
    what = f"{_counted(n_groups, 'group')} of the {axes_of_fleet(fleet).name} axes at {commits}{more}"
    each = f"{_counted(len(shards), 'shard')} of about {text_from_seconds(max(loads))} each at most"
    first = folder / "shards" / f"{shards[0].name}.json"
    return [
        f"fleet {fleet.name}: {what}, for machine {fleet.machine}",
        f"{each}; measured by a second host, too: {n_repeats} of the groups",
        f"written to {folder}",
        f"all of it on this machine: fusebench fleet run {shlex.quote(str(folder))}",
        f"one shard, by whatever can start a command: fusebench fleet work {shlex.quote(str(first))}",
    ]


def parameters_from_texts(texts: Sequence[str]) -> dict[str, str]:
    """Parse NAME=VALUE. Raises: InvalidSettings."""
    if wrong := [text for text in texts if "=" not in text]:
        raise InvalidSettings(f"--slurm {wrong[0]}: write NAME=VALUE, as in partition=gpu")
    return dict(text.split("=", 1) for text in texts)


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
