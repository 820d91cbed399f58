"""Figures of a page: rows → `Chart`, a frozen value → plotly.

Imports dashboard.quantities, looks, scales and below; imported by dashboard.views and pages.
"""
