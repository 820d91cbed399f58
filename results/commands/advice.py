"""What to type next when something was not measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from results.queries import commits

if TYPE_CHECKING:
    from results.store import Store


def how_to_measure(store: Store, *, commit: str) -> str:
    """The command that measures `commit`: our sweep, or asv where the store holds only other suites."""
    stored = commits(store)
    has_only_foreign = bool(stored) and not any(row.n_points for row in stored)
    if has_only_foreign:
        return f"To measure it: `asv run {commit}^!` in the project's repository, then `fusebench ingest` again"
    return f"To measure it: `git checkout {commit} && make bench; git checkout -`"
