"""Addresses of pages that others link to, with what was chosen there."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from dashboard.lines import NO_PARAMETERS
from dashboard.sweep_axes import AXES, text_of
from results.rows import contender_of, parameters_in_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from results.judgement.findings import Finding
    from results.rows import ParameterValue, PointRow, SeriesRow, SeriesValueRow

HASH_LENGTH = 12


def explore_address(
    row: SeriesRow | SeriesValueRow, *, commit: str, points: Iterable[tuple[ParameterValue, ...]] = ()
) -> str:
    """Return the address of the series' history at a commit, with lines for `points` instead of its own alone."""
    lines = [parameters_in_words(parameters) or NO_PARAMETERS for parameters in points or (row.parameters,)]
    pairs = [
        ("project", row.project),
        ("benchmark", row.benchmark),
        ("metric", row.metric),
        ("machine", row.machine),
        ("environment", row.environment),
        *(("line", line) for line in lines),
        ("commit", commit[:HASH_LENGTH]),
    ]
    return f"/explore?{urlencode(pairs)}"


def profile_address(finding: Finding) -> str | None:
    """Return the address of the profile of a finding's worst point beside that before it; None for other benchmarks."""
    worst = finding.points[0] if finding.points else ()
    contender = contender_of(worst)
    if contender is None:
        return None
    own = {one.name.rstrip("_"): "none" if one.value is None else str(one.value) for one in worst}
    own |= {"operation": finding.benchmark, "machine": finding.surface.machine}
    own |= {"environment": finding.surface.environment}
    pairs = [(axis.name, own[axis.name]) for axis in AXES if axis.name in own]
    pairs += [
        ("project", finding.surface.project),
        ("provider", contender),
        ("commit", finding.first_bad[:HASH_LENGTH]),
    ]
    if finding.last_good:
        pairs.append(("base", finding.last_good[:HASH_LENGTH]))
    return f"/profile?{urlencode(pairs)}"


def compare_address(finding: Finding) -> str | None:
    """Return the address of the comparison of the commits on both sides of a finding, in its metric."""
    if finding.last_good is None:
        return None
    pairs = {
        "project": finding.surface.project,
        "commit": [finding.last_good[:HASH_LENGTH], finding.first_bad[:HASH_LENGTH]],
        "machine": finding.surface.machine,
        "environment": finding.surface.environment,
    }
    if finding.points:  # one about everything is of no metric
        pairs["metric"] = finding.metric
    return f"/compare?{urlencode(pairs, doseq=True)}"


def point_profile_address(row: PointRow) -> str:
    """Return the address of a point's profile at its own commit."""
    pairs = [*_shape(row), ("provider", row.contender), ("commit", row.commit[:HASH_LENGTH])]
    return f"/profile?{urlencode(pairs, safe=':')}"


def throughput_address(row: PointRow, *, is_newest: bool = False) -> str:
    """Return the address of the throughput of a point's shape at its own commit, or at the newest, which it may be."""
    commit = [] if is_newest else [("commit", row.commit[:HASH_LENGTH])]
    return f"/throughput?{urlencode([*_shape(row), *commit])}"


def _shape(row: PointRow) -> list[tuple[str, str]]:
    """Return a point's axes and its project, which another one may share the shape with."""
    return [*((axis.name, text_of(getattr(row, axis.column))) for axis in AXES), ("project", row.project)]
