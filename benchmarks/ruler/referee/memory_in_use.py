"""Memory of results that are in use: nobody may give it out again, as the next result overwrites the one before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.ruler.referee.failures import raised_by_contender
from benchmarks.ruler.referee.verification import tensors_of

if TYPE_CHECKING:
    from collections.abc import Callable

REUSED = "it gives the same memory again while an earlier result in it is in use"
# So many results are kept in use at once, unless they take more memory or calls more time.
_MOST, _MOST_BYTES, _MOST_S = 64, 2**26, 0.02


def why_reused(call: Callable[[], object], last_output: object, *, now: Callable[[], float]) -> str | None:
    """Return that `call` takes turns with a few pieces of memory, or None.

    last_output: a result that is in use. Calls on while all results are, so that who has n pieces, of 64 at most, is
    found out for sure. Raises: ContenderRaised.
    """
    held, places = [last_output], _places(last_output)
    n_bytes = sum(each.untyped_storage().nbytes() for each in tensors_of(last_output) or ())
    most, end_s = min(_MOST, _MOST_BYTES // max(1, n_bytes)), now() + _MOST_S
    while len(held) <= most and now() < end_s:
        with raised_by_contender():
            held.append(call())
        if not places.isdisjoint(its_places := _places(held[-1])):
            return REUSED
        places |= its_places
    return None


def are_in_same_memory(one: object, other: object) -> bool:
    """Return whether results that both are in use share memory: tensors that begin in the same storage."""
    return not _places(one).isdisjoint(_places(other))


def _places(result: object) -> set[int]:
    return {each.untyped_storage().data_ptr() for each in tensors_of(result) or ()}
