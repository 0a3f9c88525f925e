"""NumPy's further functions, made of operations: once, for programs, tensors and traced
functions.
"""
