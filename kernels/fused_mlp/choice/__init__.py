"""Choose the implementation and tile sizes for a shape: tuned table, then rules.

Imports gpu and native; imported by ops, the operations and modules.
"""
