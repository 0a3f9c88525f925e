"""A witness that is not the program: Python reads the same text, and NumPy computes it.

The language is Python's notation wherever a text is valid in both. So Python's own parser says what
the tree is, NumPy what the value is, and differences of NumPy's values what the gradient is;
nothing here calls gradcli but `comparison`.
"""
