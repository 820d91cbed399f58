"""Two commits compared: noise between processes, control series, many series at once. Pure functions of numbers.

Imported by results.judgement.verdicts; knows neither rows nor metrics.
"""
