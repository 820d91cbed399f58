"""The tuned numbers are read, followed, and never change a result beyond rounding."""

import json

import pytest

import fused_mlp
from fused_mlp.tuned import TABLE, Policy, cpu_name, entry_of, policy_for

pytestmark = pytest.mark.usefixtures("cpu_kernels")


@pytest.fixture
def follow():
    """Applies a policy for one test."""
    from fused_mlp.tuning import apply

    yield apply
    apply(policy_for(cpu_name()))


def test_every_entry_of_the_table_is_a_policy():
    table = json.loads(TABLE.read_text())
    assert table["command"] == "python -m fused_mlp.tuning --write"
    for entry in table["entries"]:
        assert policy_for(entry["cpu"]) == Policy(**entry["policy"])
        assert set(entry) == set(entry_of(Policy(), cpu="", n_threads=1, torch_version=""))


def test_a_cpu_the_table_does_not_know_gets_the_general_numbers():
    assert policy_for("no such cpu") == Policy()


def test_a_policy_is_followed(follow):
    follow(Policy(repacking_rows=2))
    assert fused_mlp.choice_for("mlp", rows=2, dim=8, hidden=8, device="cpu").weights == "repacked"
    follow(Policy(repacking_rows=3))
    assert fused_mlp.choice_for("mlp", rows=2, dim=8, hidden=8, device="cpu").weights == "plain"


@pytest.mark.parametrize("split", [0, 10**9], ids=["rows", "columns"])
@pytest.mark.parametrize("repacking_rows", [1, 10**9], ids=["repacked", "plain"])
def test_every_way_gives_a_result_within_its_bound(operation, dtype, follow, split, repacking_rows):
    follow(Policy(serial_flop=0, row_split_rows=split, repacking_rows=repacking_rows))
    for rows, dim, hidden in ((1, 17, 130), (5, 64, 33), (70, 130, 127)):
        case = operation.case(rows=rows, dim=dim, hidden=hidden, dtype=dtype, activation="silu")
        actual = operation.function(*case.arguments, activation="silu")
        assert ((actual.double() - case.expected).abs() <= case.bound).all()


def test_tuning_ends_with_a_policy_of_measured_candidates(follow, monkeypatch, capsys):
    from fused_mlp import tuning

    monkeypatch.setattr(tuning, "ROUNDS", 5)
    monkeypatch.setattr(tuning, "CANDIDATES", {"repacking_rows": (4, 16)})
    monkeypatch.setattr(tuning, "SHAPES", {"repacking_rows": ((8, 16, 16),)})
    policy = tuning.measured_policy(Policy())
    assert policy.repacking_rows in (4, 16)
    assert policy.serial_flop == Policy().serial_flop
    assert "repacking_rows" in capsys.readouterr().out


def test_the_choice_is_the_general_rule_s_where_nothing_is_known(follow):
    follow(Policy())
    assert fused_mlp.choice_for("mlp", rows=128, dim=64, hidden=64, device="cpu").weights == "repacked"
