"""The language: text to a tree, the tree to a graph, and programs run statement by statement."""
