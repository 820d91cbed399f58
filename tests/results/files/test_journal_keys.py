"""Each key that the ruler writes is one that the store reads: neither side may forget the other."""

from __future__ import annotations

from dataclasses import fields

import pytest

from benchmarks.ruler.record import outcome
from benchmarks.ruler.record.lines import ProfileLine, TimingLine
from results.files import journal_lines

# Recorded for whoever reads the journal itself.
ONLY_RECORDED = {
    *("device_time_ci_low_s", "device_time_ci_high_s"),
    *("device_time_cold_ci_low_s", "device_time_cold_ci_high_s"),
    "overhead_parts",
    "slow_quarter_s",  # a run judges its own visits again by it
}
PARTS_OF_A_LINE = {"head", "outcome"}


def names_of(*classes):
    return {field.name for one in classes for field in fields(one)} - PARTS_OF_A_LINE


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (names_of(outcome.TimingOutcome, TimingLine), journal_lines.TimingRecord),
        (names_of(outcome.Visit), journal_lines.VisitRecord),
        (names_of(outcome.ProfileOutcome, ProfileLine), journal_lines.ProfileRecord),
        (names_of(outcome.OperatorRow), journal_lines.OperatorRecord),
        (names_of(outcome.KernelRow), journal_lines.KernelRecord),
        (names_of(outcome.GapRow), journal_lines.GapRecord),
        (names_of(outcome.RuntimeCallRow), journal_lines.RuntimeCallRecord),
    ],
    ids=["timing", "visit", "profile", "operator", "kernel", "gap", "runtime_call"],
)
def test_every_key_that_is_written_is_read(written, read):
    assert written - ONLY_RECORDED <= set(read.__struct_fields__)


@pytest.mark.parametrize(
    "kind",
    [
        outcome.TimingOutcome,
        outcome.Visit,
        outcome.ProfileOutcome,
        outcome.OperatorRow,
        outcome.GapRow,
        outcome.RuntimeCallRow,
    ],
)
def test_every_key_that_is_written_is_described(kind):
    from pathlib import Path

    page = (Path(__file__).parents[3] / "docs" / "file-formats.md").read_text()
    assert {name for name in names_of(kind) if f"`{name}`" not in page} == set()
