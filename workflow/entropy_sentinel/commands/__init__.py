"""The command line, with a function for each subcommand."""
