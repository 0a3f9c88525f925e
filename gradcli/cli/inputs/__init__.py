"""What is read: arguments as they were typed, and what they are: expressions, bindings, files, values of options."""
