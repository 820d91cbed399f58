"""Encode what was measured: outcomes, the journal, the measured commit.

Imports benchmarks.ruler.plan; imported by the wings that measure.
"""
