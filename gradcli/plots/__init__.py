"""Expressions over ranges of their names.

Values and derivatives come in columns, with the places of kinks, jumps, poles and gaps.
"""
