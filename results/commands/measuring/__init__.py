"""Commands that measure: each starts the measuring tower as a process, and answers from what it recorded."""
