"""Readers of external data: the hub, local rows, logs, and imported traces and labels."""
