"""Which answers to a question mean the same."""
