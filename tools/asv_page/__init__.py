"""asv's own published page of what a store holds, and how long a browser takes to a curve on it."""
