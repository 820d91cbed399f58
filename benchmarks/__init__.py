"""Measurement: asv suites, and in `ruler/` the instrument they share."""
