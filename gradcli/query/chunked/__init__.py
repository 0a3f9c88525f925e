"""Values that no one memory holds: programs computed chunk by chunk, here or on a cluster, lazily
for Dask or kept as they come.
"""
