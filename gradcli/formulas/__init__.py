"""Graphs for people to read: simplified, and printed as text of the language or as LaTeX."""
