"""Kernels of any commit, each through its own wheel, measured by today's ruler.

Imports sweep and what lies below; imported by history and ab.
"""
