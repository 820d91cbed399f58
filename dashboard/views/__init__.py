"""Contents of the pages as frozen values: what a URL chooses, and the rows, charts and notes it shows.

Imports dashboard.figures, tables and below, and results.queries; imported by dashboard.pages.
"""
