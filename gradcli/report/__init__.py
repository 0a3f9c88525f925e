"""Results as plain data, and one file for each output that is made of them."""
