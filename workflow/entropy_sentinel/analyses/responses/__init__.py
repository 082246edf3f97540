"""Single responses: their tokens, how sure the model was of each, and what became of them."""
