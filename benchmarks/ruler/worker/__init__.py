"""Run measurements in a process of their own that a crash or a hang cannot take along.

Imports measure and below; imported by sweep and above.
"""
