"""Search for the commit that changed a series, by trials against the good end; pure.

search says what to measure next, share how much of the change between the ends a trial has, target what is followed.
"""
