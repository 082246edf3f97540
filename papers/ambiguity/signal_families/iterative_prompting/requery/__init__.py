"""How the model is asked again: the version of the pass stands for this code."""
