"""Pictures of explanations: what is drawn, where it stands, and each format that it is drawn in."""
