"""The only importer of sympy: operations and whole functions as sympy expressions, and their
derivatives.
"""
