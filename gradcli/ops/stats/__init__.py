"""Special functions, probabilities and combinatorics."""
