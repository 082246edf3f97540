"""Floor 1: AEE, rho, AUROC, rejection curves, medians, splits, agreement: pure functions on arrays."""
