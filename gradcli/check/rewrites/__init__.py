"""Other ways to write a function, which keep what it loses as it is written: identities, regroupings, fractions, series, a search."""
