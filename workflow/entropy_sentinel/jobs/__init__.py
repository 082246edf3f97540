"""What is around a job: code fingerprint, package versions, logs, announced servers."""
