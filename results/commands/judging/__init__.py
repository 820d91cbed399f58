"""Commands that judge commits and histories, and what a person decided about their changes."""
