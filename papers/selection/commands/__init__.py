"""The subcommand `select`, apart from the code of jobs."""
