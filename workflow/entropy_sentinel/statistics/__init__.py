"""Floor 1: errors, intervals, splits, rejection, scores of intervals, agreement and concordance, uncertainties."""
