"""References of operations: their definitions, written a second time.

They share no code with the operations that they vouch for.
"""
