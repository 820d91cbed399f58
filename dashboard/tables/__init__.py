"""Render rows as HTML tables.

Imports dashboard.widgets and results.rows; imported by views and pages.
"""
