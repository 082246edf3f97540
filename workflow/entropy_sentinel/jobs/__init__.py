"""Support for jobs: code fingerprint, package versions, logs, announced servers."""
