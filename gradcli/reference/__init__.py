"""The judge's own reading of the tree, and its own derivatives: multi-precision, sympy, long double, kinks."""
