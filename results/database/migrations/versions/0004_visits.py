"""Visits of a group and what differs between them; overhead of a call and the evidence for its bound.

Revision ID: 0004
Revises: 0003
Create Date: 2026-11-22
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add columns, null for everything measured so far."""
    op.add_column("measurement", sa.Column("latency_between_sd_s", sa.Double(), nullable=True))
    op.add_column("measurement", sa.Column("speedup_between_sd", sa.Double(), nullable=True))
    op.add_column("measurement", sa.Column("visits", sa.JSON(), nullable=True))
    op.add_column("profile", sa.Column("overhead_s", sa.Double(), nullable=True))
    op.add_column("profile", sa.Column("overhead_in", sa.Text(), nullable=True))
    op.add_column("profile", sa.Column("bound_detail", sa.Text(), nullable=True))


def downgrade() -> None:
    """Refuse: a store is built again, not downgraded."""
    raise NotImplementedError("a store is not downgraded; build one again with `fusebench ingest`")
