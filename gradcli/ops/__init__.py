"""Catalogue of operations: one record each, one file a family.

The families of a kind are in one room, where `registry` finds them.
"""
