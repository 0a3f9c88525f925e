"""A session: a program that is typed line by line, its commands, the process that computes, and the prompt."""
