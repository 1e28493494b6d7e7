"""The ``streamlog`` command, which is the Rust command line in the native module."""

import sys

from streamlog._core import main as run


def main() -> int:
    """Runs the command line of this process and returns its exit code."""
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
