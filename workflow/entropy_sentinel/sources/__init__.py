"""Floor 1: what comes from outside: the hub, local rows, traces and labels made elsewhere."""
