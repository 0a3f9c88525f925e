"""The judge's own reading of the graph, and its own derivatives: multi-precision, sympy, long double, kinks."""
