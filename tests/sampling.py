"""Which combinations of a test's parameters run at every change; `make test-exhaustive` runs all."""

import itertools


def covering_sample(combinations):
    """Return positions in `combinations` (name → value) that together hold every pair of values that any of them holds.

    Greedy, so the same combinations always give the same sample.
    """
    pairs = [
        frozenset(itertools.combinations(sorted(combination.items()), min(2, len(combination))))
        for combination in combinations
    ]
    missing, sampled = frozenset().union(*pairs), set()
    while missing:
        best = max(range(len(pairs)), key=lambda position: len(pairs[position] & missing))
        sampled.add(best)
        missing -= pairs[best]
    return sampled
