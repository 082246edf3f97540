"""What the entropy area score (Zhu et al., 2025) says of how much a model's answers vary."""
