"""Which commits are on the main line of their repository.

Revision ID: 0009
Revises: 0008
Create Date: 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column, null: the next ingest reads the repositories again."""
    op.add_column("commits", sa.Column("is_on_main_line", sa.Boolean(), nullable=True))


def downgrade() -> None:
    """Refuse: a store is built again, not downgraded."""
    raise NotImplementedError("a store is not downgraded; build one again with `fusebench ingest`")
