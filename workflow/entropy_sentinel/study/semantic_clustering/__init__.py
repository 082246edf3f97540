"""Grouping of answers to a question by meaning."""
