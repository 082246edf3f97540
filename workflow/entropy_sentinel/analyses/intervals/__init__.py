"""Intervals that a model states at a level: their coverage, and adjustments that reach the level."""
