"""Floor 2: what estimates accuracy from features, one module per family."""
