"""Decisions: inputs to records and cases to outcomes, in one process or in several."""
