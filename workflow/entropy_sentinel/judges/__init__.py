"""Floor 2: what labels responses."""
