"""Expressions over ranges of their names: values and derivatives in columns, and where kinks,
jumps, poles and gaps are.
"""
