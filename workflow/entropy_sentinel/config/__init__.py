"""The rooms' sections put together, loaded and checked."""
