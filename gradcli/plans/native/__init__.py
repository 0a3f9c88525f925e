"""Native code: loops of plans as C.

The machine's compiler compiles it; the library is kept in the user's cache folder and loaded from
there.
"""
