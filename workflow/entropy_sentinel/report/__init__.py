"""Floor 1: how things look, once."""
