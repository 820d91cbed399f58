"""From a question about a block, a known model or a module of one's own to the axes that answer it."""
