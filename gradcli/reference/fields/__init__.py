"""Differential fields: elementary functions as rational functions of generators, in which equality
of formulas is proved.
"""
