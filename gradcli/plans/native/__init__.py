"""Native code: loops of plans as C, compiled by the machine's compiler, kept in the user's cache
folder and loaded from there.
"""
