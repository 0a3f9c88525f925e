"""A session: a program that is typed line by line, its commands, and the prompt."""
