"""Build the contenders of a point: eager, compiled, fused, peers and the user's own.

Imports plan and record; imported by measure and above.
"""
