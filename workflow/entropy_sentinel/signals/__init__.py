"""Families of signals beside the 17 features, a folder for each."""
