"""Decide which slices need an alert, since when, and whether somebody was told before."""
