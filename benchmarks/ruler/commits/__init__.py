"""Kernels of any commit, each through its own wheel, and other stacks below them, measured by today's ruler.

Imports sweep and what lies below; imported by history and ab.
"""
