"""Operations and whole functions as sympy expressions, and their derivatives.

Only this package imports sympy.
"""
