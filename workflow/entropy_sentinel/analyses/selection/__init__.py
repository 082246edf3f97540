"""Select a study's items to train on by the model's uncertainty about them (Zhu et al. 2025, Section 4)."""
