"""Audit a judge: people label a sample of its responses, and the answers are compared with its labels.

Within `study`, may be imported by: `cli`.
"""
