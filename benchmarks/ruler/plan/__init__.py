"""Decide what is measured: axes, presets, filters and the sweep's groups of points. Pure.

Imports benchmarks.ruler.errors; every other wing of the ruler may import it.
"""
