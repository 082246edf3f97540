"""Floor 1: AEE, rho, AUROC, rejection curves, medians, splits: pure functions on arrays."""
