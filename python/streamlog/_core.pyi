"""The native module. ``mypy.stubtest`` proves that this stub tells the truth."""

from collections.abc import Sequence
from typing import Final

__all__ = ["__version__", "main"]

__version__: Final[str]
"""Version of the package and of the engine in it."""

def main(argv: Sequence[str]) -> int:
    """Runs the command line with the arguments after the program's name.

    Returns the exit code: 0 done, 1 failed, 2 wrong usage. The interpreter is released meanwhile.
    """
