"""The core of tensors: their entries, dtypes, nodes and modes, the backward pass, views, and
writing in place.
"""
