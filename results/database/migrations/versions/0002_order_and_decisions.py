"""Order of commits by git; decisions and where they apply; expected counts of a profile.

Revision ID: 0002
Revises: 0001
Create Date: 2026-11-21
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

OLD_INDEX = "ix_run_machine_id_environment_id_ordered_at_started_at"
NEW_INDEX = "ix_run_machine_id_environment_id_ordered_at_position_started_at"


def upgrade() -> None:
    """Add columns and one table; stored commits keep their order until a repository is read."""
    op.add_column("commits", sa.Column("ordered_at", sa.DateTime(timezone=True), nullable=True))
    op.execute("UPDATE commits SET ordered_at = date")
    op.add_column("run", sa.Column("position", sa.Integer(), server_default="0", nullable=False))
    op.drop_index(op.f(OLD_INDEX), table_name="run")
    op.create_index(
        op.f(NEW_INDEX),
        "run",
        ["machine_id", "environment_id", "ordered_at", "position", "started_at"],
        unique=False,
    )
    op.create_index(op.f("ix_benchmark_continues_id"), "benchmark", ["continues_id"], unique=False)
    op.add_column("profile", sa.Column("expected_operator_count", sa.Double(), nullable=True))
    op.add_column("profile", sa.Column("expected_kernel_launches", sa.Double(), nullable=True))
    op.add_column("profile", sa.Column("unexpected", sa.Text(), nullable=True))
    op.create_table(
        "decision",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("source_id", sa.Integer(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["source_id"], ["source.id"], name=op.f("fk_decision_source_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_decision")),
    )
    op.create_index(op.f("ix_decision_source_id"), "decision", ["source_id"], unique=False)
    with op.batch_alter_table("triage") as triage:
        triage.add_column(sa.Column("decision_id", sa.Integer(), nullable=True))
        triage.alter_column("decided_at", existing_type=sa.DateTime(timezone=True), nullable=True)
        triage.create_foreign_key(op.f("fk_triage_decision_id"), "decision", ["decision_id"], ["id"])


def downgrade() -> None:
    """Refuse: a store is built again, not downgraded."""
    raise NotImplementedError("a store is not downgraded; build one again with `fusebench ingest`")
