"""Families of signals other than the 17 features, one folder each."""
