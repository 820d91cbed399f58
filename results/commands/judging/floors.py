"""How small a change would be seen of what did not change: by its history, which verdicts ask of what changed alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from results.database.fetching import gc_paused
from results.judgement.verdicts import Outcome, judge
from results.metrics import Precision
from results.queries import spreads_before

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results.files.settings import Threshold
    from results.judgement.outcomes import Judgement
    from results.rows import SeriesValueRow
    from results.store import Store


@gc_paused()
def with_floors(
    store: Store,
    judgement: Judgement,
    before: Sequence[SeriesValueRow],
    after: Sequence[SeriesValueRow],
    thresholds: Sequence[Threshold],
) -> Judgement:
    """Return the judgement of `before` and `after` with what is invisible of the unchanged series, too.

    Whatever changed keeps its verdict: other commands, which show no unchanged series, judge it alike.
    """
    noisy = [one.head.series_id for one in judgement.verdicts if one.metric.precision is Precision.NOISY]
    weighed = judge(
        before,
        after,
        base_commit=judgement.base_commit,
        head_commit=judgement.head_commit,
        least_change=judgement.least_change,
        spreads=spreads_before(store, after, judgement.head_commit, noisy),
        thresholds=thresholds,
    )
    unchanged = {one.head.series_id: one for one in weighed.verdicts if one.outcome is Outcome.UNCHANGED}
    verdicts = (
        unchanged.get(one.head.series_id, one) if one.outcome is Outcome.UNCHANGED else one
        for one in judgement.verdicts
    )
    return replace(judgement, verdicts=tuple(verdicts))
