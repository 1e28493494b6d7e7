"""Entry point of ``python -m streamlog.broker``, the same as ``streamlog broker``."""

import sys

from streamlog.__main__ import main

if __name__ == "__main__":
    sys.exit(main("broker"))
