"""What the subcommands know about a study: its files, what is left of it, what that takes."""
