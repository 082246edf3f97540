"""What the analysis computes: AUROC, errors, validations. Beside it is how they are shown."""
