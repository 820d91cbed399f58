"""Planning of shards: every group once, costs even, a tenth on a second host, the same each time."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.ruler.errors import InvalidAxes, InvalidSettings
from benchmarks.ruler.fleet.shards import Fleet, Shard, key_of, planned_shards, repeated
from benchmarks.ruler.fleet.sweep_costs import costs_of, groups_by_key, groups_of_shard
from benchmarks.ruler.plan.axes import FULL, QUICK
from benchmarks.ruler.plan.filters import Filters
from benchmarks.ruler.plan.points import DeviceKind, Group
from benchmarks.ruler.record.codec import json_from_value, value_from_json
from benchmarks.ruler.record.provenance import Commit

COMMITS = tuple(Commit(hash=letter * 40, date=None, subject=None) for letter in "ab")
FLEET = Fleet(
    name="0a1b2c3d",
    created_at="2026-01-01T00:00:00+00:00",
    machine="h200",
    device=DeviceKind.CPU,
    threads=2,
    axes="quick",
    commits=COMMITS,
)
costs = st.dictionaries(st.text("abcdef", min_size=1, max_size=6), st.floats(0.1, 100), max_size=60)


@given(costs, st.integers(1, 9))
def test_every_group_is_in_one_shard_in_the_order_of_the_sweep(costs, n_shards):
    shards = planned_shards(FLEET, costs, n_shards=n_shards)
    assert sorted(key for shard in shards for key in shard.groups) == sorted(costs)
    order = list(costs)
    assert all(list(shard.groups) == sorted(shard.groups, key=order.index) for shard in shards)


@given(costs, st.integers(1, 9))
def test_no_shard_costs_more_than_the_even_share_and_one_group(costs, n_shards):
    shards = planned_shards(FLEET, costs, n_shards=n_shards)
    loads = [sum(costs[key] for key in shard.groups) for shard in shards]
    assert max(loads) <= sum(loads) / len(shards) + max(costs.values(), default=0.0) + 1e-6


@given(costs, st.integers(2, 9))
def test_a_tenth_of_the_groups_is_repeated_and_never_in_the_shard_that_has_them(costs, n_shards):
    shards = planned_shards(FLEET, costs, n_shards=n_shards)
    again = [key for shard in shards for key in shard.repeats]
    assert not any(set(shard.groups) & set(shard.repeats) for shard in shards)
    assert len(again) == len(set(again))
    assert len(again) >= len(costs) / 10 if len(shards) > 1 else not again


def test_one_shard_repeats_nothing_as_there_is_no_second_host():
    assert planned_shards(FLEET, {"a": 1.0, "b": 2.0}, n_shards=1)[0].repeats == ()


def test_the_same_plan_gives_the_same_shards_in_whatever_order_dictionaries_are():
    costs = {f"g{i}": 1.0 + i % 7 for i in range(50)}
    turned = dict(reversed(costs.items()))
    once, again = (planned_shards(FLEET, each, n_shards=4) for each in (costs, turned))
    assert [set(shard.groups) for shard in once] == [set(shard.groups) for shard in again]
    assert repeated(costs) == repeated(turned)


def test_no_shard_is_refused():
    with pytest.raises(InvalidSettings, match="--shards 0"):
        planned_shards(FLEET, {"a": 1.0}, n_shards=0)


@pytest.mark.parametrize("axes", [QUICK, FULL], ids=lambda axes: axes.name)
@pytest.mark.parametrize("device", DeviceKind)
def test_keys_of_groups_are_unique(axes, device):
    groups = groups_by_key(replace(FLEET, device=device), axes)
    assert len({group.shape for group in groups.values()}) == len(groups) > 10


def test_a_group_of_more_work_or_more_commits_costs_more():
    groups = groups_by_key(FLEET, FULL)
    found = costs_of(FLEET, FULL, groups)
    large, small = (
        next(key for key, group in groups.items() if (group.shape.batch, group.shape.hidden) == sizes)
        for sizes in ((4096, 4096), (1, 256))
    )
    assert found[large] > found[small] > 0
    more = costs_of(replace(FLEET, commits=(*COMMITS, *COMMITS)), FULL, groups)
    assert more[small] == pytest.approx(2 * found[small])


def test_a_shard_survives_its_file():
    fleet = replace(FLEET, filters=Filters(operation=("mlp",)), axes_toml="batches = [1]\n")
    shard = Shard(fleet=fleet, number=3, groups=("a", "b"), repeats=("c",))
    assert value_from_json(Shard, json.loads(json.dumps(json_from_value(shard)))) == shard


def test_a_group_that_this_checkout_does_not_have_is_named_with_the_mend():
    groups = groups_by_key(FLEET, QUICK)
    shard = Shard(fleet=FLEET, number=1, groups=(*groups, "mlp-b7"))
    with pytest.raises(InvalidAxes, match="no group mlp-b7; check out the commit that planned"):
        groups_of_shard(shard, groups, shard.groups)
    known = groups_of_shard(shard, groups, tuple(groups))
    assert [key_of(group.shape) for group in known] == list(groups)
    assert all(isinstance(group, Group) for group in known)


def test_runs_of_a_fleet_are_told_apart_by_commit_and_by_being_a_repeat():
    ids = {FLEET.run_id(commit, is_repeat=again) for commit in COMMITS for again in (False, True)}
    assert len(ids) == 4
