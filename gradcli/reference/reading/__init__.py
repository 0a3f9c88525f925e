"""The judge's own reading of programs: it runs the syntax tree on the judge's scalars, without the graph and all that made it."""
