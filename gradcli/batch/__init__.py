"""Many queries of one form, and sums of many terms of one form: compiled once, and run on columns of numbers."""
