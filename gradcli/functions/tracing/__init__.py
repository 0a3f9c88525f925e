"""Functions in Python as graphs.

Tensors of ours pass through the functions' libraries, and the graphs are made of what is done with
them.
"""
