"""View of the page *Throughput*: what the URL chooses, the rows of its charts, and the notes beside them."""
