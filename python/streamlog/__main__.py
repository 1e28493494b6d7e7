"""The ``streamlog`` command, which is the Rust command line in the native module."""

import signal
import sys

from streamlog._core import main as run


def main(*words: str) -> int:
    """Runs these words and the arguments of this process, and returns the exit code."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # The command line listens to Ctrl-C itself; Python's handler would raise on the way out.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return run([*words, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
