"""Write records into the database: one transaction per source, each file registered by its content.

Imports results.database and results.files; imported by results.store, results.upkeep and results.commands.
"""
