"""Which items of a study to train on, by how unsure the model is of them (Zhu et al. 2025, Section 4)."""
