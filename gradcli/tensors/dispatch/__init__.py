"""Applying operations to tensors.

It leads from a call in the words of a library to arrays, results and nodes.
"""
