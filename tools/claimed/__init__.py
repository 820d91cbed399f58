"""Checks of claims, by what shows them."""
