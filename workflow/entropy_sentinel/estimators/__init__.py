"""What estimates accuracy from features, one module per family."""
