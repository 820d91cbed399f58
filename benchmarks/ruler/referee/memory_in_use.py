"""Memory of results that are in use: nobody may give it out again, as the next result overwrites the one before."""

from __future__ import annotations

from bisect import bisect, insort
from typing import TYPE_CHECKING

from benchmarks.ruler.referee.failures import raised_by_contender
from benchmarks.ruler.referee.verification import tensors_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch

REUSED = "it gives the same memory again while an earlier result in it is in use"
# So many results are kept in use at once, unless they take more memory or calls more time.
_MOST, _MOST_BYTES, _MOST_S = 64, 2**26, 0.02


def why_reused(call: Callable[[], object], last_output: object, *, now: Callable[[], float]) -> str | None:
    """Return that `call` takes turns with a few pieces of memory, or None.

    last_output: a result that is in use. Calls on while all results are, so that who has n pieces, of 64 at most, is
    found out for sure, be they of one storage or of several. Raises: ContenderRaised.
    """
    held, end_s = [last_output], now() + _MOST_S
    spans = _spans(last_output)
    n_bytes = sum(end - begin for begin, end in spans)
    # A storage is held as a whole, but once, however many results are cut from it.
    storages, n_more_bytes = _storages(last_output), 0
    while len(held) <= _MOST and n_more_bytes + n_bytes <= _MOST_BYTES and now() < end_s:
        with raised_by_contender():
            held.append(call())
        its_spans = _spans(held[-1])
        if any(_is_in(span, spans) for span in its_spans):
            return REUSED
        for span in its_spans:
            insort(spans, span)
        its_storages = _storages(held[-1])
        n_more_bytes += sum(its_bytes for place, its_bytes in its_storages.items() if place not in storages)
        storages |= its_storages
    return None


def _spans(result: object) -> list[tuple[int, int]]:
    """Return where the tensors of a result begin and end, in bytes, sorted; those that overlap as one.

    What lies between a tensor's first value and its last is its own, be it strided.
    """
    spans: list[tuple[int, int]] = []
    for begin, end in sorted(_span(each) for each in tensors_of(result) or () if each.numel()):
        if spans and begin < spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((begin, end))
    return spans


def _span(tensor: torch.Tensor) -> tuple[int, int]:
    begin, n_values = tensor.data_ptr(), tensor.numel()
    if not tensor.is_contiguous():
        n_values = 1 + sum((size - 1) * step for size, step in zip(tensor.shape, tensor.stride(), strict=True))
    return begin, begin + n_values * tensor.element_size()


def _is_in(span: tuple[int, int], spans: list[tuple[int, int]]) -> bool:
    """Return whether a span overlaps one of `spans`, which are sorted and apart from each other."""
    after = bisect(spans, span)
    return (after > 0 and spans[after - 1][1] > span[0]) or (after < len(spans) and spans[after][0] < span[1])


def _storages(result: object) -> dict[int, int]:
    """Return the bytes of the storages that a result lies in, by address."""
    storages = [each.untyped_storage() for each in tensors_of(result) or ()]
    return {storage.data_ptr(): storage.nbytes() for storage in storages}
