"""What is kept and judged: the store of measurements, the questions it answers, and the verdicts."""
