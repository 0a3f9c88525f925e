"""The catalogue of operations: one record each, one file a family. `catalogue` imports them all."""
