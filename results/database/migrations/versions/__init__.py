"""Migration steps, oldest first; what a released one does never changes."""
