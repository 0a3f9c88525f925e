"""A query to its record.

The room covers the question, the names to differentiate by, the computation, and the result.
"""
