"""Intervals that a model states at a level, how many of them hold, and what makes them hold."""
