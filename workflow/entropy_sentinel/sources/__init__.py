"""Floor 1: what comes from outside: the hub, local rows, logs, traces and labels made elsewhere."""
