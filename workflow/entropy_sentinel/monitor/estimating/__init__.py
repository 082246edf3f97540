"""Sums to estimates: a row per slice and window, what has changed, and what calls for attention."""
