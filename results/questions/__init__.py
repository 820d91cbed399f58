"""Read the database and answer in frozen rows (results.rows).

Imports results.store and below; other towers and wings ask through its public face, results.queries.
"""
