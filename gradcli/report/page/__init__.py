"""Explanations as one page for a browser, which plays them step by step and fetches nothing."""
