"""The core of tensors.

It has their entries, dtypes, nodes and modes, the backward pass, views, and writing in place.
"""
