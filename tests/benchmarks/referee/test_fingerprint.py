"""The number of a tensor's bits: the same for the same, another for any other."""

import pytest
import torch

from benchmarks.ruler.referee import fingerprint as module
from benchmarks.ruler.referee.fingerprint import Fingerprint

CPU = torch.device("cpu")


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float8_e4m3fn])
def test_one_bit_is_noticed_wherever_it_is(monkeypatch, dtype):
    monkeypatch.setattr(module, "_PIECE", 16)
    fingerprint = Fingerprint(CPU)
    tensor = torch.randn(5, 8).to(dtype)
    before = fingerprint.of(tensor)
    assert fingerprint.of(tensor.clone()) == before
    found = {before}
    for index in range(40):
        other = tensor.clone()
        other.view(torch.uint8)[index // 8, (index % 8) * other.element_size()] ^= 1
        found.add(fingerprint.of(other))
    assert len(found) == 41


def test_values_that_changed_places_are_noticed(monkeypatch):
    monkeypatch.setattr(module, "_PIECE", 4)
    fingerprint = Fingerprint(CPU)
    tensor = torch.arange(12.0)
    for order in ([1, 0, *range(2, 12)], [*range(4, 8), *range(4), *range(8, 12)], list(range(11, -1, -1))):
        assert fingerprint.of(tensor[order]) != fingerprint.of(tensor)


def test_nobody_knows_the_number_of_another():
    tensor = torch.ones(8)
    assert Fingerprint(CPU).of(tensor) != Fingerprint(CPU).of(tensor)
