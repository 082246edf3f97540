"""What stages agree on: contracts, one module per stage's frame, errors. Polars and Pydantic only."""
