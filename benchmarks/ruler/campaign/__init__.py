"""Spend a short lease of a GPU machine well: check, tune and measure in resumable pieces.

The ruler's top layer; run as `python -m benchmarks.ruler.campaign`.
"""
