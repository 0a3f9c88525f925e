"""A fuzzer: inputs made from the grammar, the registry and what stands in samples, given to the
real entry points; and faults injected.

``python -m tests.fuzz --minutes 60`` runs it for an hour. Input number i of a seed is always the
same. What every run must hold stands in `invariants.py`; every input that ever failed stands in
``corpus/``, with what is wanted of it.
"""
