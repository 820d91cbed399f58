"""Changes of level in histories: control, steps, the newest commit, noise floors and states; pure.

Below `from_histories`, all are functions of arrays of many series at once; imported by results.output and
results.commands.
"""
