"""Readers of what is on disk: programs, JSON Lines records, arrays, settings."""
