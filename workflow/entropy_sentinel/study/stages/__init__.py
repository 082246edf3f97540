"""The stages of the pipeline, a module each, which reads Parquet files and writes one.

A stage, its rule and its frame in `schemas` share a name.
Within `study`, may be imported by: `analyses`, `auditing`, `planning`, `init` and every room above.
"""
