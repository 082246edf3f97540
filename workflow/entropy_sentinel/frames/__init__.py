"""Shared by all stages: contracts, a module for each stage's frame, errors. Imports only Polars and Pydantic."""
