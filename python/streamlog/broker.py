"""``python -m streamlog.broker`` is ``streamlog broker``."""

import sys

from streamlog._core import main as run


def main() -> int:
    """Runs a broker with the options of this process until it is told to stop."""
    return run(["broker", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
