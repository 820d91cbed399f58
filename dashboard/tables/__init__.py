"""Tables of a page: rows → HTML components.

Imports dashboard.widgets, quantities and below; imported by dashboard.views and pages.
"""
