"""Ranges of values and derivatives over a box, enclosed by intervals rounded outwards."""
