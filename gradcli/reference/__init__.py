"""The judge's own derivatives: multi-precision, sympy, long double, kinks."""
