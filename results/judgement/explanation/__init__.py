"""Why a finding is: what differs inside of a call, in conditions and in exact counts, and what was ruled out. Pure.

Where nothing is known, an explanation says so and names no cause. Imported by queries, output and the dashboard.
"""

from __future__ import annotations

from results.judgement.explanation.calls import ProfiledCall
from results.judgement.explanation.causes import Cause, CauseKind
from results.judgement.explanation.comparison import compare_profiles
from results.judgement.explanation.difference import (
    DifferencePart,
    DifferenceRow,
    ProfileDifference,
    RowKind,
    RowPlace,
)
from results.judgement.explanation.explained import Explanation, Subject, explain

__all__ = [
    "Cause",
    "CauseKind",
    "DifferencePart",
    "DifferenceRow",
    "Explanation",
    "ProfileDifference",
    "ProfiledCall",
    "RowKind",
    "RowPlace",
    "Subject",
    "compare_profiles",
    "explain",
]
