"""What comes from outside: the hub, local rows, logs, traces and labels made elsewhere."""
