"""Bytes and time expected of a profile, its compilations, and which calls of an operator count.

Revision ID: 0006
Revises: 0005
Create Date: 2026-11-22
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add columns, null for everything profiled so far."""
    for name in ("expected_bytes", "expected_time_s", "compilations"):
        op.add_column("profile", sa.Column(name, sa.Double(), nullable=True))
    op.add_column("profile_operator", sa.Column("outermost", sa.Double(), nullable=True))


def downgrade() -> None:
    """Refuse: a store is built again, not downgraded."""
    raise NotImplementedError("a store is not downgraded; build one again with `fusebench ingest`")
