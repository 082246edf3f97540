"""Layer 2: pure computation on frames and arrays. No files, no network, no clock."""
