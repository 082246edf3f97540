"""One module per stage of the pipeline; each reads Parquet files and writes one."""
