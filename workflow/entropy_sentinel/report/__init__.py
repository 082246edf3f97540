"""How things look, once."""
