"""Build what a page shows as one frozen value, and its URL.

Imports tables, figures and results.queries; imported by dashboard.pages.
"""
