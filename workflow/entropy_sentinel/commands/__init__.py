"""Floor 6: the command line, one module per subcommand."""
