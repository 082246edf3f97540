"""Floor 5: slices of production logs, their estimated accuracy, and what of it calls for attention."""
