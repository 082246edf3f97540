"""What the command `audit` does: draw a sample, let a person label it, and compare."""
