"""Differential fields, in which equality of formulas is proved.

Elementary functions are rational functions of generators.
"""
