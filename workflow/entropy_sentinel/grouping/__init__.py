"""Floor 2: which answers to a question mean the same."""
