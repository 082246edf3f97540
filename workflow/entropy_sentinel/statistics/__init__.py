"""Floor 1: AEE, rho, AUROC, medians, splits: pure functions on arrays."""
