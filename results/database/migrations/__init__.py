"""Migrations of the tables, one file a step; run when a store is opened."""
