"""The stages of the pipeline, a module each, which reads Parquet files and writes one."""
