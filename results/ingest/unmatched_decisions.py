"""Acknowledgements that are about nothing stored, in words: most often a name in them is misspelt, or a hash short."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from results.database.schema import Commit, Decision, Project, Source

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from sqlalchemy.engine import Connection

MOST_NAMED = 5
_NAMES = ("benchmark", "metric", "machine", "environment")
_HASHES = (
    sa.select(Commit.hash).join(Project, Project.id == Commit.project_id).where(Project.name == sa.bindparam("project"))
)


def notes_of_unmatched(connection: Connection, decision_ids: Collection[int]) -> list[str]:
    """Return a note for each of these acknowledgements, which no stored series matches, with what does not fit."""
    if not decision_ids:
        return []
    rows = connection.execute(
        sa.select(Decision.content, Source.path)
        .outerjoin(Source, Source.id == Decision.source_id)
        .where(Decision.id.in_(decision_ids))
        .order_by(Decision.id)
    ).all()
    notes = [
        f"{row.path or 'a merged store'}: the acknowledgement of {_in_words(row.content)} is about nothing stored: "
        f"{_reason(connection, row.content)}"
        for row in rows[:MOST_NAMED]
    ]
    n_more = len(rows) - MOST_NAMED
    return [*notes, *([f"{n_more:,} more acknowledgements are about nothing stored"] if n_more > 0 else [])]


def _in_words(content: Mapping[str, Any]) -> str:
    subject = [content[name] for name in _NAMES if content[name] is not None]
    subject += [f"{name}={value}" for name, value in content["parameters"].items()]
    return f"{', '.join(subject) or 'everything'} at {content['commit'][:12]}"


def _reason(connection: Connection, content: Mapping[str, Any]) -> str:
    hashes = list(connection.execute(_HASHES, {"project": content["project"]}).scalars())
    if not hashes:
        return f"no project {content['project']} is stored"
    if content["commit"] in hashes:
        return "no series that was measured there, or is gone there, matches"
    longer = [one for one in hashes if content["commit"] and one.startswith(content["commit"])]
    return f"write the full hash, {longer[0]}" if len(longer) == 1 else "its commit was not measured"
