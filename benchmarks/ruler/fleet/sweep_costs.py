"""Groups of a fleet's sweep and what each is expected to cost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.ruler.errors import InvalidAxes
from benchmarks.ruler.fleet.shards import key_of
from benchmarks.ruler.plan.axes import all_groups
from benchmarks.ruler.plan.axes_files import axes_from_settings, axes_from_text, with_providers
from benchmarks.ruler.plan.filters import refuse_unknown_values, selected
from benchmarks.ruler.plan.plugins import foreign_names
from benchmarks.ruler.plan.points import Operation
from benchmarks.ruler.plan.settings import Settings
from benchmarks.ruler.sweep.estimate import call_seconds, flush_seconds, profile_seconds, visit_seconds
from benchmarks.ruler.worker.policies import policy_of_visit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.ruler.fleet.shards import Fleet, Shard
    from benchmarks.ruler.plan.axes import Axes
    from benchmarks.ruler.plan.points import Group


def axes_of_fleet(fleet: Fleet) -> Axes:
    """Return the axes of a fleet as this checkout has them. Raises: InvalidAxes."""
    if fleet.axes_toml is None:
        found = axes_from_settings(Settings(axes=fleet.axes))
    else:
        found = with_providers(axes_from_text(fleet.axes_toml, path=Path(fleet.axes)), foreign_names(None))
    if fleet.provider_module is not None:
        found = with_providers(found, fleet.provider_module.names)
    return replace(found, visits=fleet.visits)


def groups_by_key(fleet: Fleet, axes: Axes) -> dict[str, Group]:
    """Return the groups of the fleet's sweep by their keys, in the order of the sweep.

    Raises: InvalidAxes, naming what no point has.
    """
    every = all_groups(axes, operations=tuple(Operation), device=fleet.device)
    refuse_unknown_values(every, fleet.filters)
    chosen = selected(every, fleet.filters)
    if not chosen:
        asked = str(fleet.filters) or "any value"
        raise InvalidAxes(f"no point of the {axes.name} axes on {fleet.device} has {asked} together")
    return {key_of(group.shape): group for group in chosen}


def groups_of_shard(shard: Shard, known: Mapping[str, Group], keys: Sequence[str]) -> tuple[Group, ...]:
    """Return the groups of `keys`. Raises: InvalidAxes if this checkout's axes lack one of them."""
    if lacking := [key for key in keys if key not in known]:
        more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        raise InvalidAxes(
            f"shard {shard.name}: this checkout's {shard.fleet.axes} axes have no group {lacking[0]}{more}; "
            "check out the commit that planned the shard"
        )
    return tuple(known[key] for key in keys)


def costs_of(fleet: Fleet, axes: Axes, groups: Mapping[str, Group]) -> dict[str, float]:
    """Return the seconds that each group is expected to take: all visits and profiles of every commit."""
    known: dict[tuple[int, str, str, str], float] = {}
    policy = policy_of_visit(fleet.device, budget_s=axes.budget_s, n_visits=fleet.visits)

    def seconds(group: Group) -> float:
        shape, contenders = group.shape, group.contenders
        call_s = call_seconds(shape, None, device=fleet.device, threads=fleet.threads)
        # By two digits of a call's time: hundreds of thousands of groups are planned in seconds.
        same = (id(contenders), shape.pass_, shape.cache, f"{call_s:.1e}")
        if same not in known:
            # Of a usual cache: every host of the fleet plans the same.
            flush_s = flush_seconds(shape, None, device=fleet.device, threads=fleet.threads)
            first, later = (
                visit_seconds(shape, contenders, policy, call_s=call_s, flush_s=flush_s, is_first=is_first)
                for is_first in (True, False)
            )
            profiles = profile_seconds(shape, contenders, call_s=call_s)
            known[same] = first + (fleet.visits - 1) * later + profiles
        return known[same]

    return {key: len(fleet.commits) * seconds(group) for key, group in groups.items()}
