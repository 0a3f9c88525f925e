"""What the libraries' own functions give for the calls of the catalogue: the oracles of
tests/test_oracles.py.
"""
