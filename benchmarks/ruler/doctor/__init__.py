"""What is missing on this machine or would disturb a measurement, with the mend."""
