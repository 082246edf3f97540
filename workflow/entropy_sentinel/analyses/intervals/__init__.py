"""Intervals that a model states at a level: how many contain the truth, and adjustments that reach the level."""
