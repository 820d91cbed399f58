"""Measure milestones of this repository: each commit's kernels through its own wheel, all by today's ruler.

Imports sweep and what lies below; imported by nobody. Run as `python -m benchmarks.ruler.history`.
"""
