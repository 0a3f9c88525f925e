"""Programs past memory and past one machine.

Their arrays are cut along one axis and computed chunk by chunk.
"""
