"""The tuned table is read, followed, and never changes a result beyond rounding."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import fused_mlp
from fused_mlp.native.build import set_policy
from fused_mlp.tuned import (
    COMMAND,
    TABLE,
    Entry,
    Found,
    Policy,
    Section,
    Way,
    entries,
    entries_from_json,
    json_from_entries,
    policy_for,
    way_near,
)
from fused_mlp.vocabulary import Implementation, NumberFormat, Operation, Weights

MLP_FLOAT32 = {"operation": Operation.MLP, "number_format": NumberFormat.FLOAT32}
SIZES = st.integers(1, 2**17)


def way(rows, dim, hidden, implementation=Implementation.ONEDNN):
    return Way(rows=rows, dim=dim, hidden=hidden, implementation=implementation)


def test_the_committed_table_is_what_its_own_entries_are_written_as():
    assert json_from_entries(entries().values()) == TABLE.read_text()
    assert f'"command": "{COMMAND}"' in TABLE.read_text()


def test_an_entry_survives_writing_and_reading():
    section = Section(weights=Weights.PLAIN, **MLP_FLOAT32)
    tiles = {"block_rows": 64, "n_warps": 4}
    ways = {section: (Way(rows=1, dim=2, hidden=3, implementation=Implementation.SINGLE, tiles=tiles), way(4, 5, 6))}
    policies = {(Operation.LINEAR, NumberFormat.BFLOAT16): Policy(serial_flop=1)}
    entry = Entry(device="a", n_threads=None, torch="2", triton="3", policies=policies, ways=ways)
    assert entries_from_json(json_from_entries([entry])) == {"a": entry}


def test_a_table_of_another_format_is_refused():
    with pytest.raises(ValueError, match="format 1, this fused_mlp reads 2"):
        entries_from_json('{"format": 1, "entries": []}')


def test_a_cpu_the_table_does_not_know_gets_the_general_numbers():
    assert policy_for("no such cpu", **MLP_FLOAT32) == (Policy(), Found.RULE)


def test_numbers_not_measured_for_a_dtype_are_those_of_mlp_and_said_to_be_a_neighbour_s(monkeypatch):
    policies = {(Operation.MLP, NumberFormat.FLOAT32): Policy(serial_flop=7)}
    entry = Entry(device="a", n_threads=1, torch="2", triton=None, policies=policies)
    monkeypatch.setattr("fused_mlp.tuned.entries", lambda: {"a": entry})
    assert policy_for("a", **MLP_FLOAT32) == (Policy(serial_flop=7), Found.TUNED)
    half = policy_for("a", operation=Operation.LINEAR, number_format=NumberFormat.FLOAT16)
    assert half == (Policy(serial_flop=7), Found.NEIGHBOUR)


def test_the_way_tuned_for_the_very_shape_is_preferred_to_any_neighbour():
    ways = [way(64, 250, 1000), way(64, 256, 1024, Implementation.CPP), way(64, 260, 1024)]
    found = way_near(ways, rows=64, dim=256, hidden=1024)
    assert found == (ways[1], Found.TUNED)


def test_rows_go_to_the_nearest_tuned_number_on_a_logarithmic_scale():
    ways = [way(16, 256, 1024), way(64, 256, 1024)]
    assert way_near(ways, rows=31, dim=256, hidden=1024) == (ways[0], Found.NEIGHBOUR)
    assert way_near(ways, rows=33, dim=256, hidden=1024) == (ways[1], Found.NEIGHBOUR)


@pytest.mark.parametrize("shape", [(1, 256, 1024), (257, 256, 1024), (64, 170, 1024), (64, 256, 1540)])
def test_a_shape_beyond_the_stated_factors_has_no_neighbour(shape):
    rows, dim, hidden = shape
    assert way_near([way(64, 256, 1024)], rows=rows, dim=dim, hidden=hidden) is None


def test_a_neighbour_that_is_not_possible_is_passed_over():
    ways = [way(64, 256, 1024), way(128, 256, 1024, Implementation.CPP)]
    possible = way_near(ways, rows=64, dim=260, hidden=1024, is_possible=lambda one: one.rows == 128)
    assert possible == (ways[1], Found.NEIGHBOUR)


@pytest.mark.parametrize("empty", ["rows", "dim", "hidden"])
def test_an_empty_size_is_looked_up_as_1(empty):
    own = way(1, 1, 1)
    assert way_near([own], **{"rows": 1, "dim": 1, "hidden": 1, empty: 0}) == (own, Found.TUNED)


@given(rows=SIZES, dim=SIZES, hidden=SIZES)
def test_every_tuned_shape_finds_itself(rows, dim, hidden):
    own = way(rows, dim, hidden)
    assert way_near([way(rows + 1, dim, hidden), own], rows=rows, dim=dim, hidden=hidden) == (own, Found.TUNED)


def test_a_policy_is_followed_for_its_operation_and_dtype_only(follow):
    follow(Policy(repacking_rows=3))
    set_policy(Policy(repacking_rows=2), operation=Operation.MLP, dtype=torch.bfloat16)

    def weights(operation, dtype):
        return fused_mlp.choice_for(operation, rows=2, dim=8, hidden=8, device="cpu", dtype=dtype).weights

    assert weights("mlp", torch.bfloat16) == "repacked"
    assert weights("mlp", torch.float32) == "plain"
    assert weights("linear", torch.bfloat16) == "plain"


@pytest.mark.parametrize("split", [0, 10**9], ids=["rows", "columns"])
@pytest.mark.parametrize("repacking_rows", [1, 10**9], ids=["repacked", "plain"])
def test_every_way_gives_a_result_within_its_bound(operation, dtype, follow, split, repacking_rows):
    follow(Policy(serial_flop=0, row_split_rows=split, repacking_rows=repacking_rows))
    for rows, dim, hidden in ((1, 17, 130), (5, 64, 33), (70, 130, 127)):
        case = operation.case(rows=rows, dim=dim, hidden=hidden, dtype=dtype, activation="silu")
        actual = operation.function(*case.arguments, activation="silu")
        assert ((actual.double() - case.expected).abs() <= case.bound).all()


def test_the_choice_is_the_general_rule_s_where_nothing_is_known(follow):
    follow(Policy())
    assert fused_mlp.choice_for("mlp", rows=128, dim=64, hidden=64, device="cpu").weights == "repacked"
