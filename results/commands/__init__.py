"""Implement the commands of `fusebench`, one module per command.

The top layer: imports every wing of results; imported by fusebench.py only.
"""
