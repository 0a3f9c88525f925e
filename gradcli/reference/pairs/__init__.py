"""The judge's own arithmetic in pairs of doubles: whole arrays, computed by compiled loops over blocks."""
