"""The contracts between stages: a module for each stage's frame, and Parquet files that follow a contract.

A file is checked when it is written and when it is read, and names where it comes from.
May be imported by: `features`, `statistics`, `hub` and every room above.
"""
