"""The contracts between stages: a module for each stage's frame, and Parquet files that follow a contract."""
