"""What `fusebench ab` measured of two commits in rounds, judged from the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from results.files.settings import Settings
    from results.judgement.outcomes import Judgement
    from results.store import Store

LOOKS = (5, 8, 11)
"""Rounds after which what is known is judged: all points first, then those that are uncertain."""
LEAST_CHANGE = 0.03
Q = 0.05
"""Share of false findings over all looks."""


def judged_runs(  # noqa: PLR0913 - two commits, two runs, and how to judge them
    store: Store,
    commits: tuple[str, str],
    runs: tuple[str, str],
    settings: Settings,
    *,
    q: float = Q / len(LOOKS),
    is_one_stack: bool = True,
) -> Judgement:
    """Judge two commits, full hashes, by a run of each in rounds. q: share of false findings in this look."""
    from results.queries import judged_rounds  # noqa: PLC0415 - needs the store's modules

    return judged_rounds(
        store,
        base=commits[0],
        head=commits[1],
        base_run=runs[0],
        head_run=runs[1],
        **settings.relevance(LEAST_CHANGE),
        q=q,
        is_one_stack=is_one_stack,
    )


def judgements_by_rounds(store: Store, commits: tuple[str, str], settings: Settings) -> list[Judgement]:
    """Judge two commits, full hashes, by each comparison of them that is stored, in its latest form."""
    from results.questions.measuring_runs import runs_in_rounds  # noqa: PLC0415 - needs the store's modules

    base, head = commits
    return [judged_runs(store, commits, runs, settings) for runs in runs_in_rounds(store, base=base, head=head)]
