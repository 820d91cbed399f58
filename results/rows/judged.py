"""What was found in the values of one series, kept so that it need not be found again."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class JudgedSeries:
    """Judgement of the values of one series. It holds for whatever has the same digest, and for nothing else.

    least_change: smallest relative change that was looked for. digest: of all that the judgement depends on. found: its
    content as text, None where no change was found; results.judgement.changes.judged writes and reads both.
    """

    series_id: int
    least_change: float
    digest: bytes
    found: str | None
