"""Read logs, traces and features as frames of responses, and count what cannot be used."""
