"""Mistakes planted into gradcli, one at a time, and who finds each: the verdict of a run, or a test
that has a name.

A mistake in a slope has to be found by the verdict, whose derivatives are its own. A mistake in
what a function is, in a name or in the machinery before the graph may be beyond it, since engine
and reference read the same nodes: then a test has to find it, one of those whose wanted side is
made by another program. ``python -m tests.planting`` plants all there are and prints what is
missed; tests/test_planted.py plants a sample.
"""
