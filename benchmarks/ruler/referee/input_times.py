"""Times of a contender's calls by what it may know of their inputs, and when they say that it keeps results. Pure."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

# A new input may cost a lone call so many times what one costs that it may know; `slower_s` comes on top.
_TIMES_SLOWER = 1.5


class InputTimes(NamedTuple):
    """Seconds of a lone call of an input that was new to it, of one of the same once more, and of one of many in a row.

    The first two are the least of several, for noise only adds; the third is the mean of its row or of as many calls of
    it as there are inputs, whichever is less; of eager the least.
    """

    new_s: float
    seen_s: float
    in_a_row_s: float

    def why_suspicious(self, slower_s: float, *, lone_s: float = 0.0) -> str | None:
        """Return why these are the times of one who keeps results, or None.

        slower_s: seconds that a new input may cost beyond its share. lone_s: what a call alone costs anybody more than
        one in a row.
        """
        limits = (
            ("one it had just seen", self.seen_s, slower_s),
            ("those in a row", self.in_a_row_s, slower_s + lone_s),
        )
        for what, known_s, spare_s in limits:
            if self.new_s > _TIMES_SLOWER * known_s + spare_s:
                took = f"an input it could not know took {self.new_s * 1e6:.1f} µs, {what} {known_s * 1e6:.1f}"
                return f"{took}: it keeps results"
        return None


def why_suspicious_again(
    of_contender: Sequence[InputTimes], of_eager: Sequence[InputTimes], slower_s: float
) -> str | None:
    """Return why a contender that was suspected round after round keeps results, or None if its machine explains it.

    of_eager: the times of the eager module, which keeps nothing, in the same rounds. On a machine that others keep
    busy, the code of a lone call comes from memory, and that of calls in a row from the caches: eager pays for it, too.
    What it pays is told within a round, as the machine may have another speed in the next.
    """
    new_s, seen_s, in_a_row_s = zip(*of_contender, strict=True)
    typical = InputTimes(min(new_s), median(seen_s), median(in_a_row_s))
    lone_s = median(each.new_s - each.in_a_row_s for each in of_eager)
    return typical.why_suspicious(slower_s, lone_s=max(0.0, lone_s))
