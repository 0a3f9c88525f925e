"""What is read from disk: programs, JSON Lines records, arrays, settings."""
