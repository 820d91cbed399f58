"""A/B: two commits measured in alternating rounds of fresh processes, each through its own wheel.

Imports commits and what lies below; imported by nobody. Run as `python -m benchmarks.ruler.ab.command`.
"""
