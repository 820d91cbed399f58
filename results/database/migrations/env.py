"""Alembic entry: run the steps on the connection of results.database.upgrade, inside its transaction."""

from alembic import context

from results.database.schema import Base

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=Base.metadata,
    version_table=context.config.attributes["version_table"],
    compare_type=True,
)
context.run_migrations()
