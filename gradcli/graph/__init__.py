"""The graph: nodes, their values, the backward sweep, and derivatives as graphs."""
