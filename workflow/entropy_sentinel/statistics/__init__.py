"""Floor 1: AEE, rho, AUROC, rejection curves, splits, correlations, uncertainties: pure functions on arrays."""
