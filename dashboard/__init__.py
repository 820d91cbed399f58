"""Dashboard in the browser, over a store or over files of record.

Imports the face of results (queries, rows, judgement, metrics, units, errors, store); imported by the command line.
"""
