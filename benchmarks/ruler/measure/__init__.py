"""Measure one group in this process: clocks, rounds, memory, profile, machine conditions.

Imports providers and below; imported by worker and above.
"""
