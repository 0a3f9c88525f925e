"""Values that no one memory holds.

Programs are computed chunk by chunk, here or on a cluster, lazily for Dask or stored as results
come.
"""
