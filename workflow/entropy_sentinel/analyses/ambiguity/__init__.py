"""Whether entropy finds what a model does not know, with one answer and several (Tomov et al., 2025)."""
