"""Failures of the referee itself, which are no contender's."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchmarks.ruler.measure.attempt import is_device_fault, state_from_error
from benchmarks.ruler.record.outcome import State

if TYPE_CHECKING:
    from collections.abc import Iterator


class RefereeFailed(Exception):
    """Raised if the referee ran out of memory; the message says at what. `state`: of the points it concerns."""

    state = State.OUT_OF_MEMORY


class ContenderRaised(Exception):
    """Raised if a contender raised `error` when the referee called it: the contender's failure, not the referee's."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


@contextmanager
def raised_by_contender() -> Iterator[None]:
    """Tell what a contender's calls raise within from the referee's own failures. Raises: ContenderRaised."""
    try:
        yield
    except Exception as error:
        raise ContenderRaised(error) from error


@contextmanager
def referee_failures(when: str) -> Iterator[None]:
    """Name the referee where it runs out of memory within. Raises: RefereeFailed; any other error as it is."""
    try:
        yield
    except ContenderRaised as failed:
        raise failed.error from None
    except Exception as raised:
        state, said = state_from_error(raised)
        if is_device_fault(raised) or state is not State.OUT_OF_MEMORY:
            raise
        raise RefereeFailed(
            f"the referee ran out of memory {when}; measure a smaller shape, or with more: {said}"
        ) from None
