"""Cases of the article as they were measured: guess and observation of each contender side by side; pure."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 - a field of a dataclass
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from results.judgement.winners import is_disturbed_as_ratio

if TYPE_CHECKING:
    from results.judgement.article.steps import Call
    from results.rows import PointRow, ProfileRow

BASELINE = "eager"
ACTIVATION_NAMES = {"gelu_tanh": "GeGLU, tanh", "gelu": "GeGLU", "silu": "SwiGLU"}


@dataclass(frozen=True, kw_only=True)
class Case:
    """One block at one shape, with what is guessed of it before it is measured.

    flop: of the products. min_bytes: what one call cannot avoid moving. intermediate_bytes: of one [rows, hidden]
    tensor between two steps. steps: by contender, how many operators or kernels should run; None where not guessed.
    """

    operation: str
    activation: str | None
    dtype: str
    rows: int
    dim: int
    hidden: int
    flop: int
    min_bytes: int
    intermediate_bytes: int
    steps: Mapping[str, int | None]

    @property
    def is_linear(self) -> bool:
        """Whether it is a single product with a bias."""
        return self.operation == "linear"

    @property
    def title(self) -> str:
        """Name the block with its sizes."""
        if self.is_linear:
            kind = "One Linear layer with a bias"
        else:
            kind = f"A gated MLP ({ACTIVATION_NAMES.get(self.activation or '', self.activation)})"
        rows = "1 row" if self.rows == 1 else f"{self.rows:,} rows"
        return f"{kind}: {rows}, {self.dim:,} → {self.hidden:,}, {self.dtype}"

    def is_of(self, row: PointRow) -> bool:
        """Return whether `row` measured this block at this shape."""
        measured = (row.operation, row.activation, row.dtype, row.batch, row.dim, row.hidden, row.pass_)
        mine = (self.operation, self.activation, self.dtype, self.rows, self.dim, self.hidden, "forward")
        return measured == mine


class Pace(StrEnum):
    """How a contender's speed compares with eager's, as far as its interval says."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "the same, as far as the interval says"
    UNKNOWN = "not known"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One contender of a case: its point, and its profile with what one call does; None where there is none."""

    row: PointRow
    profile: ProfileRow | None = None
    call: Call | None = None

    @property
    def name(self) -> str:
        """Name the contender competes under."""
        return self.row.contender

    @property
    def pace(self) -> Pace:
        """Compare with eager by the interval of the paired ratio; not known where that was disturbed."""
        low, high = self.row.speedup_ci_low, self.row.speedup_ci_high
        if self.row.provider == BASELINE or is_disturbed_as_ratio(self.row) or low is None or high is None:
            return Pace.UNKNOWN
        return Pace.FASTER if low > 1 else Pace.SLOWER if high < 1 else Pace.SAME

    @property
    def slowdown(self) -> float | None:
        """Time over eager's: below 1 it is faster."""
        speedup = self.row.speedup_vs_eager
        return 1 / speedup if speedup else None


@dataclass(frozen=True, kw_only=True)
class Observed:
    """A case with its entries, eager's first; contenders that gave no time are in it, too."""

    case: Case
    entries: tuple[Entry, ...]

    @property
    def eager(self) -> Entry | None:
        """The baseline, where it gave a time."""
        return self.named(BASELINE)

    def named(self, name: str) -> Entry | None:
        """Return the contender called `name`, where it gave a time."""
        found = [entry for entry in self.entries if entry.name == name and entry.row.latency_s is not None]
        return found[0] if found else None

    @property
    def rivals(self) -> tuple[Entry, ...]:
        """Contenders other than eager that gave a time and whose call is known."""
        return tuple(
            entry
            for entry in self.entries
            if entry.name != BASELINE and entry.row.latency_s is not None and entry.call is not None
        )
