"""Parse files of record into frozen records: asv's results, journals, machine ceilings, decisions.

Imports only results.errors and results.metrics of this tower; every other wing may import it.
"""
