"""What the analysis computes: agreement of judges. Beside it is how it is shown."""
