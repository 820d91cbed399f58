"""Differences of two profiles that were made up row by row, and the causes found in them, for tests."""

from __future__ import annotations

import pytest

from results.judgement.explanation.causes import Cause, causes_of
from results.judgement.explanation.difference import (
    DifferencePart,
    DifferenceRow,
    ProfileDifference,
    RowKind,
    RowPlace,
)
from tests.made_calls import US, on_cpu

CALL = on_cpu({"aten::mm": 50})


def row(kind, name, base=(0, 0), head=(0, 0), **known):
    """A row of times in µs and counts at both commits."""
    times = {"base_s": base[0] * US, "head_s": head[0] * US, "base_count": base[1], "head_count": head[1]}
    return DifferenceRow(**{"kind": kind, "place": RowPlace.OPERATOR, "name": name, **times, **known})


def added(name, us=5, n=1.0, **known):
    return row(RowKind.ADDED, name, head=(us, n), **known)


def removed(name, us=5, n=1.0, **known):
    return row(RowKind.REMOVED, name, base=(us, n), **known)


def renamed(before, name, us=(5, 5)):
    return row(RowKind.RENAMED, name, (us[0], 1), (us[1], 1), before=before)


def difference(*rows, change=0, latency=100, parts=None, counts=(), **known):
    """A difference whose latency changes by so many µs; `parts` of it, in µs, beside its rows."""
    found = [DifferencePart(name=one.name, base_s=one.base_s, head_s=one.head_s) for one in rows]
    found += [DifferencePart(name=name, base_s=0.0, head_s=us * US) for name, us in (parts or {"rest": 0}).items()]
    whole = {"base_s": latency * US, "head_s": (latency + change) * US}
    return ProfileDifference(rows=rows, parts=tuple(found), counts=tuple(counts), **(whole | known))


def causes(*rows, quantities=(), base=CALL, head=CALL, **known):
    return causes_of(difference(*rows, **known), quantities, base, head)


def exact(kind, words, us=None, **known):
    return Cause(
        kind=kind, words=words, change_s=None if us is None else pytest.approx(us * US), is_exact=True, **known
    )
