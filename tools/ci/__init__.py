"""Steps of workflows and of action.yml as programs: each runs by hand, and needs Python's standard library only."""
