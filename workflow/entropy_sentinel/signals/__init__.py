"""Floor 1: families of signals beside the 17 features, a folder for each."""
