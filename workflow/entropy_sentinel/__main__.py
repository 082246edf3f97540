"""The command `entropy-sentinel`, and `python -m entropy_sentinel`."""

import signal


def main() -> None:
    """Run the command; an interrupt before it has begun ends the process without a traceback."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from entropy_sentinel.commands import main as commands  # the import takes a second

    signal.signal(signal.SIGINT, signal.default_int_handler)
    commands.main()


if __name__ == "__main__":
    main()
