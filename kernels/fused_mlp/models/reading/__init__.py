"""Read what a block's code computes: its source, its graph, and the patterns in that; nothing is changed."""
