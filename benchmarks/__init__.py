"""What gradcli costs, beside the libraries that do the same:

``python -m benchmarks`` in a checkout (README.md says more).
"""
