"""First schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create every table."""
    op.create_table(
        "environment",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_environment")),
        sa.UniqueConstraint("name", name=op.f("uq_environment_name")),
    )
    op.create_table(
        "machine",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("details", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_machine")),
        sa.UniqueConstraint("name", name=op.f("uq_machine_name")),
    )
    op.create_table(
        "project",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_project")),
        sa.UniqueConstraint("name", name=op.f("uq_project_name")),
    )
    op.create_table(
        "quarantine",
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("signature", sa.Text(), nullable=False),
        sa.Column("found_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("path", name=op.f("pk_quarantine")),
    )
    op.create_table(
        "benchmark",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("interval_level", sa.Double(), nullable=False),
        sa.Column("parameter_names", sa.JSON(), nullable=False),
        sa.Column("continues_id", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["continues_id"], ["benchmark.id"], name=op.f("fk_benchmark_continues_id")),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_benchmark_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_benchmark")),
        sa.UniqueConstraint(
            "project_id", "name", "metric", "version", name=op.f("uq_benchmark_project_id_name_metric_version")
        ),
    )
    op.create_table(
        "ceiling",
        sa.Column("machine_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("environment_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("quantity", sa.Text(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("measured_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["environment_id"], ["environment.id"], name=op.f("fk_ceiling_environment_id")),
        sa.ForeignKeyConstraint(["machine_id"], ["machine.id"], name=op.f("fk_ceiling_machine_id")),
        sa.PrimaryKeyConstraint("machine_id", "environment_id", "quantity", name=op.f("pk_ceiling")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "commits",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("date", sa.DateTime(timezone=True), nullable=True),
        sa.Column("subject", sa.Text(), nullable=True),
        sa.Column("position", sa.Integer(), nullable=True),
        sa.Column("is_orphaned", sa.Boolean(), nullable=True),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_commits_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_commits")),
        sa.UniqueConstraint("project_id", "hash", name=op.f("uq_commits_project_id_hash")),
    )
    op.create_table(
        "point",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_point_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_point")),
        sa.UniqueConstraint("project_id", "subject", "key", name=op.f("uq_point_project_id_subject_key")),
    )
    op.create_table(
        "source",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=True),
        sa.Column("signature", sa.Text(), nullable=False),
        sa.Column("content_hash", sa.Text(), nullable=False),
        sa.Column("n_bytes_read", sa.BigInteger(), nullable=False),
        sa.Column("read_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_source_project_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_source")),
        sa.UniqueConstraint("path", name=op.f("uq_source_path")),
    )
    op.create_table(
        "parameter",
        sa.Column("point_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("number", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["point_id"], ["point.id"], name=op.f("fk_parameter_point_id")),
        sa.PrimaryKeyConstraint("point_id", "position", name=op.f("pk_parameter")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_parameter_name_number"), "parameter", ["name", "number"])
    op.create_table(
        "run",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("uid", sa.Text(), nullable=False),
        sa.Column("commit_id", sa.Integer(), nullable=False),
        sa.Column("machine_id", sa.Integer(), nullable=False),
        sa.Column("environment_id", sa.Integer(), nullable=False),
        sa.Column("source_id", sa.Integer(), nullable=True),
        sa.Column("ordered_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("n_values", sa.Integer(), nullable=False),
        sa.Column("conditions", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["commit_id"], ["commits.id"], name=op.f("fk_run_commit_id")),
        sa.ForeignKeyConstraint(["environment_id"], ["environment.id"], name=op.f("fk_run_environment_id")),
        sa.ForeignKeyConstraint(["machine_id"], ["machine.id"], name=op.f("fk_run_machine_id")),
        sa.ForeignKeyConstraint(["project_id"], ["project.id"], name=op.f("fk_run_project_id")),
        sa.ForeignKeyConstraint(["source_id"], ["source.id"], name=op.f("fk_run_source_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
        sa.UniqueConstraint("project_id", "uid", name=op.f("uq_run_project_id_uid")),
    )
    op.create_index(op.f("ix_run_commit_id"), "run", ["commit_id"])
    op.create_index(
        op.f("ix_run_machine_id_environment_id_ordered_at_started_at"),
        "run",
        ["machine_id", "environment_id", "ordered_at", "started_at"],
    )
    op.create_index(op.f("ix_run_source_id"), "run", ["source_id"])
    op.create_table(
        "series",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("benchmark_id", sa.Integer(), nullable=False),
        sa.Column("point_id", sa.Integer(), nullable=False),
        sa.Column("machine_id", sa.Integer(), nullable=False),
        sa.Column("environment_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["benchmark_id"], ["benchmark.id"], name=op.f("fk_series_benchmark_id")),
        sa.ForeignKeyConstraint(["environment_id"], ["environment.id"], name=op.f("fk_series_environment_id")),
        sa.ForeignKeyConstraint(["machine_id"], ["machine.id"], name=op.f("fk_series_machine_id")),
        sa.ForeignKeyConstraint(["point_id"], ["point.id"], name=op.f("fk_series_point_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_series")),
        sa.UniqueConstraint(
            "benchmark_id",
            "machine_id",
            "environment_id",
            "point_id",
            name=op.f("uq_series_benchmark_id_machine_id_environment_id_point_id"),
        ),
    )
    op.create_index(
        op.f("ix_series_point_id_machine_id_environment_id"), "series", ["point_id", "machine_id", "environment_id"]
    )
    op.create_table(
        "execution",
        sa.Column("run_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("benchmark_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("duration_s", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["benchmark_id"], ["benchmark.id"], name=op.f("fk_execution_benchmark_id")),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_execution_run_id")),
        sa.PrimaryKeyConstraint("run_id", "benchmark_id", name=op.f("pk_execution")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "measurement",
        sa.Column("run_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("point_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("ruler_version", sa.Text(), nullable=False),
        sa.Column("measured_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("together", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("disturbed", sa.Text(), nullable=True),
        sa.Column("provider_detail", sa.Text(), nullable=True),
        sa.Column("stop", sa.Text(), nullable=True),
        sa.Column("flop", sa.Double(), nullable=True),
        sa.Column("min_bytes", sa.Double(), nullable=True),
        sa.Column("floor_s", sa.Double(), nullable=True),
        sa.Column("conditions", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["point_id"], ["point.id"], name=op.f("fk_measurement_point_id")),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_measurement_run_id")),
        sa.PrimaryKeyConstraint("run_id", "point_id", name=op.f("pk_measurement")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_measurement_point_id_run_id"), "measurement", ["point_id", "run_id"])
    op.create_table(
        "profile",
        sa.Column("run_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("point_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("measured_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("operator_count", sa.Double(), nullable=True),
        sa.Column("operator_time_s", sa.Double(), nullable=True),
        sa.Column("kernel_launches", sa.Double(), nullable=True),
        sa.Column("device_time_s", sa.Double(), nullable=True),
        sa.Column("peak_memory_bytes", sa.Double(), nullable=True),
        sa.Column("bound", sa.Text(), nullable=True),
        sa.Column("stacks", sa.LargeBinary(), nullable=True),
        sa.Column("trace", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["point_id"], ["point.id"], name=op.f("fk_profile_point_id")),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_profile_run_id")),
        sa.PrimaryKeyConstraint("run_id", "point_id", name=op.f("pk_profile")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_profile_point_id_run_id"), "profile", ["point_id", "run_id"])
    op.create_table(
        "triage",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("series_id", sa.Integer(), nullable=False),
        sa.Column("commit_id", sa.Integer(), nullable=False),
        sa.Column("decision", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("decided_by", sa.Text(), nullable=True),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["commit_id"], ["commits.id"], name=op.f("fk_triage_commit_id")),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name=op.f("fk_triage_series_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_triage")),
        sa.UniqueConstraint("series_id", "commit_id", name=op.f("uq_triage_series_id_commit_id")),
    )
    op.create_table(
        "value",
        sa.Column("run_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("series_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("median", sa.Double(), nullable=True),
        sa.Column("ci_low", sa.Double(), nullable=True),
        sa.Column("ci_high", sa.Double(), nullable=True),
        sa.Column("q25", sa.Double(), nullable=True),
        sa.Column("q75", sa.Double(), nullable=True),
        sa.Column("sample_count", sa.Integer(), nullable=True),
        sa.Column("calls_per_sample", sa.BigInteger(), nullable=True),
        sa.Column("samples", sa.LargeBinary(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_value_run_id")),
        sa.ForeignKeyConstraint(["series_id"], ["series.id"], name=op.f("fk_value_series_id")),
        sa.PrimaryKeyConstraint("run_id", "series_id", name=op.f("pk_value")),
        sqlite_with_rowid=False,
    )
    if op.get_bind().dialect.name == "postgresql":
        op.create_index(op.f("ix_value_series_id_run_id"), "value", ["series_id", "run_id"])
    op.create_table(
        "profile_kernel",
        sa.Column("run_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("point_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("count", sa.Double(), nullable=False),
        sa.Column("device_time_s", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(
            ["run_id", "point_id"],
            ["profile.run_id", "profile.point_id"],
            name=op.f("fk_profile_kernel_run_id_point_id"),
        ),
        sa.PrimaryKeyConstraint("run_id", "point_id", "position", name=op.f("pk_profile_kernel")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_profile_kernel_name"), "profile_kernel", ["name"])
    op.create_table(
        "profile_operator",
        sa.Column("run_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("point_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("count", sa.Double(), nullable=False),
        sa.Column("self_time_s", sa.Double(), nullable=True),
        sa.Column("total_time_s", sa.Double(), nullable=True),
        sa.Column("is_compute", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id", "point_id"],
            ["profile.run_id", "profile.point_id"],
            name=op.f("fk_profile_operator_run_id_point_id"),
        ),
        sa.PrimaryKeyConstraint("run_id", "point_id", "position", name=op.f("pk_profile_operator")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_profile_operator_name"), "profile_operator", ["name"])
