"""The catalogue of operations: one record each, one file a family, the families of a kind in a
room, where `registry` finds them.
"""
