"""Estimators of accuracy from features, one module per family."""
