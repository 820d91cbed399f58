"""Which places were judged, and as of which runs.

Revision ID: 0008
Revises: 0007
Create Date: 2026-11-23
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the table, empty: every place is to be judged, from what is kept of its series."""
    op.create_table(
        "judged_place",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("machine_id", sa.Integer(), nullable=False),
        sa.Column("environment_id", sa.Integer(), nullable=False),
        sa.Column("n_runs", sa.Integer(), nullable=False),
        sa.Column("n_values", sa.BigInteger(), nullable=False),
        sa.Column("positions", sa.BigInteger(), nullable=False),
        sa.Column("read_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("detector", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "machine_id", "environment_id", name="pk_judged_place"),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name="fk_judged_place_project_id"),
        sa.ForeignKeyConstraint(["machine_id"], ["machine.id"], name="fk_judged_place_machine_id"),
        sa.ForeignKeyConstraint(["environment_id"], ["environment.id"], name="fk_judged_place_environment_id"),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    """Refuse: a store is built again, not downgraded."""
    raise NotImplementedError("a store is not downgraded; build one again with `fusebench ingest`")
