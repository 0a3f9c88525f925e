"""What PyTorch says of calls that it refuses: found by the name of the function."""
