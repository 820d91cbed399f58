"""How the tables came to be, one file a step; run when a store is opened."""
