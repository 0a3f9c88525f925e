"""The judge: the engine's results held to the reference, claims and asserts decided, mistakes
located and repairs found.
"""
