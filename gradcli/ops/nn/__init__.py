"""What networks are made of: activations, layers, convolutions, attention, losses."""
