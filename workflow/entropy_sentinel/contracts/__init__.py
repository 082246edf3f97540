"""Layer 0: what the stages agree on. Imports nothing heavier than Polars and Pydantic."""
