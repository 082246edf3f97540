"""Floor 3: what is around a job: code fingerprint, package versions, logs, announced servers."""
