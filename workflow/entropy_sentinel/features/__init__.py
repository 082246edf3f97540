"""Floor 1: a feature is a named Polars expression over a response's tokens."""
