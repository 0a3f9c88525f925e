"""Past memory and past one machine: programs on arrays that are cut along one axis, chunk
by chunk.
"""
