"""Other ways to write a function that keep what the way it is written loses: identities, regroupings, fractions, series, and their search."""
