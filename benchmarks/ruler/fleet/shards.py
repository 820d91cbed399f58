"""Shards of a sweep: which groups are measured together on one host, planned by their expected cost. Pure."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING

from benchmarks.ruler.errors import InvalidSettings
from benchmarks.ruler.plan.filters import Filters
from benchmarks.ruler.plan.points import DeviceKind, Pass, Shape
from benchmarks.ruler.record.provenance import Commit  # noqa: TC001 - the codec reads the annotations

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SHARD_FORMAT = 1
REPEATED_SHARE = 0.1
"""Share of the groups that a second host measures, too, so that what lies between hosts is known."""


@dataclass(frozen=True, kw_only=True)
class ProviderModule:
    """File of providers from outside, which travels with the shards. names: of its providers."""

    name: str
    text: str
    names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """Sweep of a fleet: what every shard of it shares.

    name: 8 hex, part of its runs' ids. machine: class of the hosts. axes: name, or that of the file whose text is
    axes_toml. visits: of each group and commit. tolerance: how far a host may lie from its class, as a share.
    """

    name: str
    created_at: str
    machine: str
    device: DeviceKind
    threads: int
    axes: str
    commits: tuple[Commit, ...]
    axes_toml: str | None = None
    provider_module: ProviderModule | None = None
    filters: Filters = field(default_factory=Filters)
    visits: int = 3
    tolerance: float = 0.02

    def run_id(self, commit: Commit, *, is_repeat: bool = False) -> str:
        """Return the id of the run that a commit's groups are recorded as; repeats are a run of their own."""
        return f"fleet-{self.name}-{commit.hash[:8]}{'-repeat' if is_repeat else ''}"


@dataclass(frozen=True, kw_only=True)
class Shard:
    """Part of a fleet's sweep for one host: the keys of its groups, all commits of each, in the order of the sweep.

    repeats: groups of other shards, which this host measures once more if it is not the one that measured them.
    """

    fleet: Fleet
    number: int
    groups: tuple[str, ...]
    repeats: tuple[str, ...] = ()
    format: int = SHARD_FORMAT

    @property
    def name(self) -> str:
        """Name of the shard's file, and of the host's notes about it."""
        return f"{self.number:04d}"


def key_of(shape: Shape) -> str:
    """Return the key of the group at `shape`: its values in words, unique within a sweep."""
    sizes = f"b{shape.batch}-d{shape.dim}-h{shape.hidden}"
    pass_ = "" if shape.pass_ is Pass.FORWARD else f"-{shape.pass_}"
    activation = f"-{shape.activation}" if shape.activation else ""
    return f"{shape.operation}{activation}{pass_}-{shape.dtype}-{sizes}-{shape.cache}"


def planned_shards(fleet: Fleet, costs: Mapping[str, float], *, n_shards: int, first: int = 1) -> tuple[Shard, ...]:
    """Share the groups out to `n_shards` shards of about equal cost, and a tenth of them to a second one.

    costs: seconds that a group is expected to take, by its key, in the order of the sweep. All commits of a group are
    in its shard, so that they are compared on one host. The same arguments give the same shards. first: number of the
    first shard. Raises: InvalidSettings for no shard.
    """
    if n_shards < 1:
        raise InvalidSettings(f"--shards {n_shards}: a sweep has at least one shard")
    n_shards = min(n_shards, max(len(costs), 1))
    loads = [(0.0, index) for index in range(n_shards)]
    owner: dict[str, int] = {}
    # The dearest first, each to the shard that has least: the last ones to go are small and even out the rest.
    for key in sorted(costs, key=lambda key: (-costs[key], key)):
        load, index = heapq.heappop(loads)
        owner[key] = index
        heapq.heappush(loads, (load + costs[key], index))
    groups: list[list[str]] = [[] for _ in range(n_shards)]
    for key in costs:
        groups[owner[key]].append(key)
    repeats: list[list[str]] = [[] for _ in range(n_shards)]
    for number, key in enumerate(repeated(costs) if n_shards > 1 else ()):
        repeats[(owner[key] + 1 + number % (n_shards - 1)) % n_shards].append(key)
    return tuple(
        Shard(fleet=fleet, number=first + index, groups=tuple(of_shard), repeats=tuple(again))
        for index, (of_shard, again) in enumerate(zip(groups, repeats, strict=True))
    )


def repeated(keys: Iterable[str]) -> tuple[str, ...]:
    """Return the keys that a second host measures, too: a tenth, at least one, the same whenever they are asked for."""
    ordered = sorted(keys, key=lambda key: blake2b(key.encode(), digest_size=8).digest())
    return tuple(ordered[: max(1, round(REPEATED_SHARE * len(ordered) + 0.49))]) if ordered else ()


def keys_lacking(keys: Sequence[str], known: Iterable[str]) -> tuple[str, ...]:
    """Return the keys of a shard that `known` does not hold."""
    have = set(known)
    return tuple(key for key in keys if key not in have)
