"""Measure a whole sweep and record it in the journal.

Imports worker and below; imported by replay, tuning, checks and campaign.
"""
