"""Content of the page *Profile*: its choice, the profiled calls it shows, and both in words."""
