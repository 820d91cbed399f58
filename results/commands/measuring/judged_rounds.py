"""Judgement of rounds that are stored, and what of it is worth more rounds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from results.commands.judging.stored_rounds import judged_runs
from results.commands.measuring.rounds import SHAPE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from results.commands.measuring.rounds import Side
    from results.commands.measuring.tower import Place
    from results.judgement.verdicts import Judgement, Verdict


def judged(base: Side, head: Side, place: Place, *, q: float) -> Judgement:
    """Judge two sides whose rounds are stored. q: share of false findings."""
    from results.files.settings import settings_of  # noqa: PLC0415 - needs the store's modules
    from results.store import OpenMode, open_store  # noqa: PLC0415 - the same

    commits, runs, settings = (base.commit, head.commit), (base.run, head.run), settings_of(Path.cwd())
    with open_store(place.db, mode=OpenMode.READ) as store:
        return judged_runs(store, commits, runs, settings, q=q, is_one_stack=base.stack == head.stack)


def uncertain_shapes(judgement: Judgement) -> list[dict[str, object]]:
    """Return the shapes of the series that are uncertain and may become certain, as they are stored."""
    from results.judgement.sides import is_control  # noqa: PLC0415 - needs the store's modules
    from results.judgement.verdicts import Change  # noqa: PLC0415 - the same

    return shapes_of(
        [
            verdict
            for verdict in judgement.verdicts
            if verdict.change is Change.UNCERTAIN and verdict.evidence is not None and not is_control(verdict.head)
        ]
    )


def shapes_of(verdicts: Iterable[Verdict]) -> list[dict[str, object]]:
    """Return the shapes that the verdicts are about, as they are stored."""
    found: dict[str, dict[str, object]] = {}
    for verdict in verdicts:
        parameters = {one.name: one.value for one in verdict.head.parameters if one.name in SHAPE}
        shape: dict[str, object] = {"operation": verdict.head.benchmark, **parameters}
        found[json.dumps(shape, sort_keys=True)] = shape
    return list(found.values())
