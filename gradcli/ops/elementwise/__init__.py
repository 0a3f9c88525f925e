"""Operations entry by entry.

They are arithmetic, powers, trigonometric and hyperbolic functions, and comparisons.
"""
