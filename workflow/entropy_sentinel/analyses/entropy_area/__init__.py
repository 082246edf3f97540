"""How the entropy area score (Zhu et al., 2025) relates to the variety of a model's answers."""
