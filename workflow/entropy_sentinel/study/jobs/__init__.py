"""Support for jobs: code fingerprint, package versions, logs, records, outputs that other studies have."""
