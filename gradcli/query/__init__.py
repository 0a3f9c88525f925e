"""A query to its record: what is asked, what it is differentiated by, what is computed, and what
became of it.
"""
