"""Fingerprint of a tensor's bits: whoever writes to it is noticed, and no second copy of it is held."""

from __future__ import annotations

import secrets

import torch

_PIECE = 2**16
_BITS_OF = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_MODULUS = 2**64


class Fingerprint:
    """Function from a tensor's bits to a number, by factors that nobody knows.

    Two contents that differ have the same number with a chance of 2⁻³² or less (multilinear hashing modulo 2⁶⁴:
    Lemire and Kaser, "Strongly universal string hashing is fast", 2014).
    """

    def __init__(self, device: torch.device) -> None:
        generator = torch.Generator(device).manual_seed(secrets.randbits(63))
        drawn = torch.randint(-(2**62), 2**62, (_PIECE,), generator=generator, device=device, dtype=torch.int64)
        self._factors = 2 * drawn + 1
        self._next_piece = secrets.randbits(63) | 1

    def of(self, tensor: torch.Tensor) -> int:
        """Return the number of `tensor`, which is contiguous; converts a small piece of it at a time."""
        bits = tensor.detach().view(-1).view(_BITS_OF[tensor.element_size()])
        found = 0
        for piece in bits.split(_PIECE):
            found = found * self._next_piece + int((piece.long() * self._factors[: len(piece)]).sum())
        return found % _MODULUS
