"""Floor 1: AEE, rho, AUROC, splits, agreement, correlations, intervals, uncertainties: pure functions on arrays."""
