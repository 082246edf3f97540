"""Families of signals for which a study asks its model, or another one, again; one folder each."""
