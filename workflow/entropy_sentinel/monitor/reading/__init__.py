"""Logs, traces and features as frames of responses: what a monitor reads, and what in it is no use."""
