"""Render rows and verdicts as text, Markdown, JSON, CSV or Parquet.

Imports results.judgement, results.queries and below; imported by results.commands.
"""
