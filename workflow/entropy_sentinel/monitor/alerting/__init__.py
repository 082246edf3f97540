"""Find the episodes that need an alert, and decide which alerts a run reports."""
