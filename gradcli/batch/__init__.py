"""Many queries of one template, and sums of many terms of one template: compiled once, and run on
columns of numbers.
"""
