"""Measure a whole sweep, record it in the journal and replay it to asv.

Imports worker and below; imported by tuning, checks and campaign.
"""
