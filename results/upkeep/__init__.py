"""Maintain a database: check, compact, merge, rebuild, remove traces.

Imports the store and everything below it; imported by results.commands only.
"""
