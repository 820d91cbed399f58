"""On PostgreSQL an index that has all that a history tells, and one of the values that have a reason.

Revision ID: 0003
Revises: 0002
Create Date: 2026-11-21
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

INDEX = "ix_value_series_id_run_id"
EXPLAINED = "ix_value_series_id_run_id_explained"


def upgrade() -> None:
    """Change indexes; SQLite has neither."""
    if op.get_context().dialect.name != "postgresql":
        return
    op.drop_index(op.f(INDEX), table_name="value")
    op.create_index(
        op.f(INDEX),
        "value",
        ["series_id", "run_id"],
        unique=False,
        postgresql_include=["state", "median", "ci_low", "ci_high", "q25", "q75", "sample_count"],
    )
    op.create_index(
        op.f(EXPLAINED),
        "value",
        ["series_id", "run_id"],
        unique=False,
        postgresql_where=sa.text("reason IS NOT NULL"),
    )


def downgrade() -> None:
    """Refused."""
    raise NotImplementedError("a store is not downgraded; build one again with `fusebench ingest`")
