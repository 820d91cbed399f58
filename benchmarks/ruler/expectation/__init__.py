"""What a contender is expected to run: operators, kernels, traffic and time, and how a profile differs from that.

Imports plan and record; imported by sweep, article and campaign.
"""
