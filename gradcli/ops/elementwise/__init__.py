"""Operations entry by entry: arithmetic, powers, trigonometric and hyperbolic functions,
comparisons.
"""
