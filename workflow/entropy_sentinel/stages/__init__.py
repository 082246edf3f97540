"""Layer 3: one module per pipeline stage; each reads Parquet files and writes one."""
