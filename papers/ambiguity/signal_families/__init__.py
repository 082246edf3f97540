"""Signals that only this analysis reads, a folder for each family."""
