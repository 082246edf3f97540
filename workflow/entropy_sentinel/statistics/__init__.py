"""Floor 1: AEE, rho, AUROC, medians, splits, agreement: pure functions on arrays."""
