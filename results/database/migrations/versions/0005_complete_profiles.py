"""Memory, least bytes, gaps and runtime calls of a profile.

Revision ID: 0005
Revises: 0004
Create Date: 2026-11-22
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

NUMBERS_OF_A_PROFILE = (
    "allocated_bytes",
    "freed_bytes",
    "operators_min_bytes",
    "device_busy_s",
    "gap_count",
    "gap_time_s",
    "longest_gap_s",
)
OBJECTS_OF_A_PROFILE = ("gaps", "runtime_calls", "missing")


def upgrade() -> None:
    """Add columns, null for everything profiled so far."""
    for name in NUMBERS_OF_A_PROFILE:
        op.add_column("profile", sa.Column(name, sa.Double(), nullable=True))
    for name in OBJECTS_OF_A_PROFILE:
        op.add_column("profile", sa.Column(name, sa.JSON(), nullable=True))
    op.add_column("profile_operator", sa.Column("inputs", sa.Text(), nullable=True))
    for name in ("allocated_bytes", "freed_bytes", "min_bytes"):
        op.add_column("profile_operator", sa.Column(name, sa.Double(), nullable=True))
    op.add_column("profile_operator", sa.Column("min_bytes_reason", sa.Text(), nullable=True))


def downgrade() -> None:
    """Refuse: a store is built again, not downgraded."""
    raise NotImplementedError("a store is not downgraded; build one again with `fusebench ingest`")
