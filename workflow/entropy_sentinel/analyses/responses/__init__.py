"""Single responses: their tokens, the model's certainty of each, and their labels."""
