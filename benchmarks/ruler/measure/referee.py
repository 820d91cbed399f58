"""What a referee may do between samples: change the inputs, check a result, refuse a contender."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Implausible(Exception):
    """Raised when a contender cannot have done what its time is taken for, or nobody can tell; the message says why."""


class Referee(Protocol):
    """Observer of every sample; nothing that it does is timed."""

    def after_warm_up(self, name: str) -> None:
        """Look at what the calls that warmed a contender up left behind. Raises: Implausible."""

    def begin_turn(self, name: str) -> None:
        """Look at a contender that takes its turn for a sample's. Raises: Implausible."""

    def before_sample(self, name: str, *, calls: int, warming_calls: int = 1) -> int:
        """Prepare the inputs of a sample, before the calls that re-warm; return how many calls to time, >= `calls`."""

    def before_last_warming(self, name: str) -> None:
        """Read what takes system calls; the calls that re-warm after it undo what that did to caches and predictors."""

    def before_timing(self, name: str) -> None:
        """Make the next calls take the prepared inputs; touches no memory, since the contender is warm now."""

    def after_sample(self, name: str, last_output: object) -> None:
        """Look at the result of the sample's last timed call. Raises: Implausible."""

    def after_last_samples(self, names: Sequence[str], *, announce: Callable[[str], None]) -> Sequence[str]:
        """Look at contenders once more that will not be sampled any more, by turns; return who is implausible.

        announce: told whose turn it is, before each.
        """


class NoReferee:
    """Referee for calls that are trusted."""

    def after_warm_up(self, name: str) -> None:
        """Do nothing."""

    def begin_turn(self, name: str) -> None:
        """Do nothing."""

    def before_sample(self, name: str, *, calls: int, warming_calls: int = 1) -> int:  # noqa: ARG002 - the protocol's
        """Return `calls`."""
        return calls

    def before_last_warming(self, name: str) -> None:
        """Do nothing."""

    def before_timing(self, name: str) -> None:
        """Do nothing."""

    def after_sample(self, name: str, last_output: object) -> None:
        """Do nothing."""

    def after_last_samples(self, names: Sequence[str], *, announce: Callable[[str], None]) -> Sequence[str]:  # noqa: ARG002 - the protocol's
        """Return nobody."""
        return ()
