"""Gradients of functions in Python: what somebody says they are, and what they are."""
