"""Goldens: questions at the public door, each with the answer that the program gave when they were
recorded.

``python -m golden record`` in tests/ records all of them, ``python -m golden compare [KIND ...]``
says what differs today. A difference is meant, and named in the changelog, or mended; a recording
takes in what is meant.
"""
