"""Store of measurements, the questions it answers, and the verdicts on them."""
