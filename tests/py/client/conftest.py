"""What the tests of a program's view share."""

from py.aio.conftest import run

__all__ = ["run"]
