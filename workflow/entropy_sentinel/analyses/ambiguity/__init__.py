"""Whether entropy measures a model's lack of knowledge, with one or several right answers (Tomov et al., 2025)."""
