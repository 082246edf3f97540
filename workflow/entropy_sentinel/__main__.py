"""`python -m entropy_sentinel`: the command `entropy-sentinel`."""

from entropy_sentinel.commands.main import main

main()
