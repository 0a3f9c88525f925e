"""Explanations: a query's graph and sweep, read once more for what every number is made of."""
