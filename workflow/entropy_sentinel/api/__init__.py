"""The verbs of a notebook and of the command: read logs, compute features, fit, estimate."""
