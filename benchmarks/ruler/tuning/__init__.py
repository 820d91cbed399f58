"""Find the fastest kernel configuration per shape and write the tuned table.

Imports sweep and below; imported by campaign and benchmarks.tune.
"""
