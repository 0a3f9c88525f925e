"""References of operations: what they are by definition, told a second time, with no code in common
with what they vouch for.
"""
