"""Analyses of the stages' files, one folder per question."""
