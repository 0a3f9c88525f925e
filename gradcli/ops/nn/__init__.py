"""Parts of networks: activations, layers, convolutions, attention, losses."""
