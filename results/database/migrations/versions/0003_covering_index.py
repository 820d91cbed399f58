"""Covering index of histories on PostgreSQL, and an index of the values with a reason.

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
    """Refuse: a store is built again, not downgraded."""
    raise NotImplementedError("a store is not downgraded; build one again with `fusebench ingest`")
