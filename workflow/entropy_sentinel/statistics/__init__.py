"""Floor 1: AEE, rho, AUROC, rejection curves, splits, agreement, correlations, intervals: pure functions on arrays."""
