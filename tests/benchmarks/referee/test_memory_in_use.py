"""Results share memory if their bytes overlap, whatever storage these are cut from."""

import itertools

import pytest
import torch

from benchmarks.ruler.referee import memory_in_use
from benchmarks.ruler.referee.memory_in_use import REUSED, why_reused


def found(results):
    """Return what is found of a call that gives these results by turns, the first of them last before."""
    return why_reused(lambda: next(results), next(results), now=lambda: 0.0)


def pieces_of_new_slabs(*, dim=0):
    while True:
        yield from torch.empty(8, 8, 4).unbind(dim)


@pytest.mark.parametrize(
    "of_result",
    [
        lambda piece: piece,
        lambda piece: piece[:, :-1],
        lambda piece: piece.t(),
        lambda piece: (piece[:4], (piece[4:], piece[2:6])),
        lambda piece: piece[:1].expand(8, 4),
    ],
)
def test_results_side_by_side_in_a_storage_are_apart(of_result):
    assert found(map(of_result, pieces_of_new_slabs())) is None


@pytest.mark.parametrize("n_pieces", [1, 2, 7, 64])
def test_pieces_of_one_storage_by_turns_are_found(n_pieces):
    assert found(itertools.cycle(torch.empty(n_pieces, 8, 4).unbind(0))) == REUSED


def test_a_few_storages_by_turns_are_found():
    assert found(itertools.cycle([torch.empty(8, 4) for _ in range(5)])) == REUSED


def test_results_that_overlap_by_a_value_are_found():
    memory = torch.empty(10_000)
    assert found(memory[begin : begin + 32] for begin in range(0, 9_000, 31)) == REUSED
    assert found(memory[begin : begin + 32] for begin in range(9_000, 0, -31)) == REUSED
    assert found(memory[begin : begin + 32] for begin in range(0, 9_000, 32)) is None


def test_results_within_an_earlier_one_are_found():
    memory = torch.empty(64, 8)
    assert found(iter([memory[:, :1], memory[5:6, 2:3]])) == REUSED
    assert found(iter([memory[5:6, 2:3], memory])) == REUSED


def test_storages_are_held_as_long_as_they_fit(monkeypatch):
    monkeypatch.setattr(memory_in_use, "_MOST_BYTES", 4 * 128)
    n_calls = 0

    def of_its_own(n_values=32):
        nonlocal n_calls
        n_calls += 1
        return torch.empty(n_values)[:32]

    assert why_reused(of_its_own, of_its_own(), now=lambda: 0.0) is None
    assert n_calls == 1 + 4
    n_calls = 0
    assert why_reused(lambda: of_its_own(1000), of_its_own(1000), now=lambda: 0.0) is None
    assert n_calls == 1 + 1


def test_a_storage_larger_than_is_held_hides_no_reuse(monkeypatch):
    monkeypatch.setattr(memory_in_use, "_MOST_BYTES", 4 * 128)
    assert found(itertools.cycle(torch.empty(1000).split(32)[:3])) == REUSED
