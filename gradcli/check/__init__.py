"""The judge, which holds the engine's results to the reference.

It decides claims and asserts, locates mistakes and finds repairs.
"""
