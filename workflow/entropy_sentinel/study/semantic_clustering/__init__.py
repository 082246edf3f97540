"""Grouping of answers to a question by meaning.

Pairs of texts that a model has compared are kept, so a new analysis compares only new pairs.
Within `study`, may be imported by: `signal_families` and every room above.
"""
