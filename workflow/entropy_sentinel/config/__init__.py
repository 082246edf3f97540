"""Floor 3: the rooms' sections put together, loaded and checked."""
