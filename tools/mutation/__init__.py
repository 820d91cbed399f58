"""Faults planted in the verdict rules, and whether the tests find each: `make mutation`."""
