"""Hold the schema, its migrations, connections and bulk loading for SQLite and PostgreSQL.

Imports results.files and below; imported by results.ingest, results.store, results.questions and results.upkeep.
"""
