"""Floor 1: AEE, rho, AUROC, rejection curves, medians, splits, agreement, correlations: pure functions on arrays."""
