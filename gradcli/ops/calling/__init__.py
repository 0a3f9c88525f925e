"""Calls of functions: their names in libraries, their parameters and their arguments.

The arguments of a call become operands and static parameters.
"""
