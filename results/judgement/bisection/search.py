"""Binary search for the commit that made a change, by trials that may err or tell nothing; pure.

Places are counted along the range: 0 is the good end, 1 to n are the candidates, n is the bad end.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

GOOD_END = 0


class Answer(StrEnum):
    """What a trial says of a commit: as the commit it was held against, changed, or nothing."""

    GOOD = "good"
    BAD = "bad"
    SKIPPED = "skipped"


class Ending(StrEnum):
    """How a search ended."""

    FOUND = "found"  # one commit, confirmed against its predecessor
    RANGE = "range"  # the change is confirmed, and commits that could not be judged share the suspicion
    UNCONFIRMED = "unconfirmed"  # the two neighbours do not differ as they should: several small steps, or noise
    VANISHED = "vanished"  # the ends do not differ any more


@dataclass(frozen=True, kw_only=True)
class Trial:
    """Answer about the commit at `place`, measured against the one at `against`."""

    place: int
    answer: Answer
    against: int = GOOD_END
    is_confirmation: bool = False


@dataclass(frozen=True, kw_only=True)
class Ask:
    """Commit to measure next: against the good end, or to confirm it against the last good one."""

    place: int
    against: int = GOOD_END
    is_confirmation: bool = False


@dataclass(frozen=True, kw_only=True)
class Ended:
    """End of a search: the change came after `last_good` and not after `first_bad`."""

    ending: Ending
    last_good: int
    first_bad: int


@dataclass(frozen=True, kw_only=True)
class Bracket:
    """What is known: the change lies after `last_good`, up to `first_bad`; `open`: places between not asked about."""

    last_good: int
    first_bad: int
    open: tuple[int, ...]


def next_step(n: int, trials: Sequence[Trial]) -> Ask | Ended:
    """Return what to measure after `trials`, in their order, among `n` candidates; the ends are known to differ.

    The commit that is found is confirmed by a fresh comparison; where that contradicts it, the two trials it rests on
    are made again, once, and the search goes on from what they say.
    """
    bracket = bracket_of(n, trials)
    if bracket is None:
        return Ended(ending=Ending.VANISHED, last_good=GOOD_END, first_bad=n)
    good, bad = bracket.last_good, bracket.first_bad
    if bracket.open:
        middle = (good + bad) / 2
        return Ask(place=min(bracket.open, key=lambda place: (abs(place - middle), place)))
    made = [i for i, one in enumerate(trials) if one.is_confirmation and (one.against, one.place) == (good, bad)]
    if not made:
        return Ask(place=bad, against=good, is_confirmation=True)
    if trials[made[-1]].answer is Answer.BAD:
        return Ended(ending=Ending.FOUND if bad - good == 1 else Ending.RANGE, last_good=good, first_bad=bad)
    asked_again = {one.place for one in trials[made[-1] + 1 :]}
    for place in (good, bad):
        if place != GOOD_END and place not in asked_again:
            return Ask(place=place)
    return Ended(ending=Ending.UNCONFIRMED, last_good=good, first_bad=bad)


def bracket_of(n: int, trials: Sequence[Trial]) -> Bracket | None:
    """Return what `trials` leave of the range; None if the bad end turned out good. The latest answer counts."""
    answers = {n: Answer.BAD}
    for trial in trials:
        # What could not be told the second time was told the first time.
        if not trial.is_confirmation and (trial.answer is not Answer.SKIPPED or trial.place not in answers):
            answers[trial.place] = trial.answer
    bad = min((place for place, answer in answers.items() if answer is Answer.BAD), default=None)
    if bad is None:
        return None
    good = max((place for place, answer in answers.items() if answer is Answer.GOOD and place < bad), default=GOOD_END)
    between = tuple(place for place in range(good + 1, bad) if place not in answers)
    return Bracket(last_good=good, first_bad=bad, open=between)


def n_trials_left(n: int, trials: Sequence[Trial]) -> int:
    """Return how many trials are left at most, if none is skipped or made again; without the confirmation."""
    bracket = bracket_of(n, trials)
    return len(bracket.open).bit_length() if bracket else 0
