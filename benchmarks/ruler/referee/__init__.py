"""See to it that a contender did what its time is taken for: its inputs, its results, the instrument itself.

Imports measure and below; imported by worker and above.
"""
