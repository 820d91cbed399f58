"""Read the database and answer in frozen rows (results.rows).

Imports results.store and below; commands and the dashboard ask through its public face, results.queries.
"""
