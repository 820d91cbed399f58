"""Real A/A: `fusebench ab` held against what it should find on this machine. `make bench-real-aa` runs it."""
