"""The stages that compute: errors of every estimator, AUROC, repeats under other seeds, validation."""
