"""The command line, a function per subcommand."""
