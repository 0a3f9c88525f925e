"""NumPy's further functions, made of operations.

They are written once, for programs, tensors and traced functions.
"""
