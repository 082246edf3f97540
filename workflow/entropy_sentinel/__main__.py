"""The command `entropy-sentinel`, and `python -m entropy_sentinel`."""

import signal
import sys

from entropy_sentinel.core.errors import ConfigError


def main() -> None:
    """Run the command; an interrupt before it has begun ends the process without a traceback."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        from entropy_sentinel.cli import main as commands  # the import takes a second
    except ConfigError as error:
        # Subcommands are declared wrongly by an extension.
        from entropy_sentinel.core.printable import make_printable

        sys.exit(make_printable(f"{type(error).__name__}: {error}"))

    signal.signal(signal.SIGINT, signal.default_int_handler)
    commands.main()


if __name__ == "__main__":
    main()
