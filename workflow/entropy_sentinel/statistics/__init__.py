"""Floor 1: AEE, rho, AUROC, rejection curves, splits, agreement, correlations, uncertainties: pure functions on arrays."""
