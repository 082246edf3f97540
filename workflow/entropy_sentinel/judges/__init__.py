"""Judges: they label responses as correct or incorrect."""
