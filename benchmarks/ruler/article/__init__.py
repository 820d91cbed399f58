"""What a published profile of two blocks looks like on this device: what to measure, and the guess made before."""
