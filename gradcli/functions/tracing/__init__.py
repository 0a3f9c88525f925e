"""Functions in Python as graphs: what they do with tensors of ours that pass through their
libraries.
"""
