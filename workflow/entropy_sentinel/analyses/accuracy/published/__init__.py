"""The paper's published values, and this study's values beside them."""
