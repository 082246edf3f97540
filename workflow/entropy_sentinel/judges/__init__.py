"""What labels responses."""
