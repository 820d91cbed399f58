"""Measure the ruler with itself: A/A comparisons, overhead, host cost.

Imports sweep and below; imported by campaign.
"""
