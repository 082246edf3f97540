"""What is left of a study, how long it takes and what it costs, read off its files."""
