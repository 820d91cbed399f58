"""Hand recorded samples to asv, whose processes begin here.

Imports sweep and below; imported by the suites in `benchmarks` alone.
"""
