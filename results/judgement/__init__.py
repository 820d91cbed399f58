"""Turn series into verdicts: noise floors and comparisons of commits. Pure functions of rows.

Imports results.rows and results.metrics; imported by results.output, results.commands and the dashboard.
"""
