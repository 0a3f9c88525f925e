"""Applying operations to tensors: from a call in the words of a library to arrays, results and
nodes.
"""
