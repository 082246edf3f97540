"""Support for jobs: code fingerprint, package versions, logs, records, outputs that other studies have.

It decides no number: what a job computes is in `stages` and `analyses`.
Within `study`, may be imported by: `stages` and every room above.
"""
