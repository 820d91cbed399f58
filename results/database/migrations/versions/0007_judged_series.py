"""What the detector of changes found in the values of each series.

Revision ID: 0007
Revises: 0006
Create Date: 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table, empty: what lacks a row is judged when it is asked for."""
    op.create_table(
        "judged_series",
        sa.Column("series_id", sa.Integer(), nullable=False),
        sa.Column("least_change", sa.Double(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("found", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("series_id", "least_change", name="pk_judged_series"),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name="fk_judged_series_series_id"),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    """Refuse: a store is built again, not downgraded."""
    raise NotImplementedError("a store is not downgraded; build one again with `fusebench ingest`")
