"""Errors, intervals, splits, rejection, scores of intervals, agreement and concordance, uncertainties."""
