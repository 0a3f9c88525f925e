"""What PyTorch says of calls that it refuses: found by the function's name when one has failed, and never before."""
