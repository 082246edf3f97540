"""The subcommand `counts`: how often a corpus answers questions, which the study reads as a file."""
