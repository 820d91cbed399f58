"""Weights that no cache holds: as many copies as are larger than it together, of which each call takes the next."""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import nn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# A set comes round again only when this many times the cache has been read meanwhile.
TIMES_THE_CACHE = 3
_MOST_SETS = 4096
_ALIGNED_TO = 512


def rotating_parameters(function: Callable[..., object]) -> tuple[nn.Parameter, ...]:
    """Return the parameters that a call of `function` fetches.

    None of a bare function, which may hold its own, nor where one is an inference tensor, whose data nothing replaces.
    """
    parameters = tuple(function.parameters()) if isinstance(function, nn.Module) else ()
    return () if any(each.is_inference() for each in parameters) else parameters


@contextmanager
def cold_weights(
    call: Callable[[], object], parameters: Sequence[nn.Parameter], *, cache_bytes: int
) -> Iterator[Callable[[], object]]:
    """Yield `call` on weights that a cache of `cache_bytes` does not hold; afterwards they are what they were.

    parameters: all that the call reads of its weights, fetched anew at each call. Changing them costs the host a few
    µs, so that only the device's time is worth reading.
    """
    sets = _copies(parameters, cache_bytes=cache_bytes)
    originals = [parameter.data for parameter in parameters]
    following = itertools.cycle(sets)

    def on_the_next_weights() -> object:
        for parameter, data in zip(parameters, next(following), strict=True):
            parameter.data = data
        return call()

    try:
        yield on_the_next_weights
    finally:
        for parameter, data in zip(parameters, originals, strict=True):
            parameter.data = data


def n_sets(parameters: Sequence[torch.Tensor], *, cache_bytes: int) -> int:
    """Return how many copies of the weights are TIMES_THE_CACHE larger than the cache, besides the one in use."""
    bytes_of_one = sum(each.numel() * each.element_size() for each in parameters)
    return min(_MOST_SETS, -(-TIMES_THE_CACHE * cache_bytes // max(bytes_of_one, 1)) + 1)


def _copies(parameters: Sequence[nn.Parameter], *, cache_bytes: int) -> list[list[torch.Tensor]]:
    # Inference tensors could not take a parameter's place for good.
    with torch.inference_mode(mode=False), torch.no_grad():
        strides = [-(-each.numel() * each.element_size() // _ALIGNED_TO) * _ALIGNED_TO for each in parameters]
        count = n_sets(parameters, cache_bytes=cache_bytes)
        memory = torch.empty(count * sum(strides), dtype=torch.uint8, device=parameters[0].device)
        starts = itertools.accumulate(itertools.chain.from_iterable([strides] * count), initial=0)
        return [[_copy(each, memory[next(starts) :]) for each in parameters] for _ in range(count)]


def _copy(parameter: nn.Parameter, memory: torch.Tensor) -> torch.Tensor:
    n_bytes = parameter.numel() * parameter.element_size()
    return memory[:n_bytes].view(parameter.dtype).view(parameter.shape).copy_(parameter.data)
