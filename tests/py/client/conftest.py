"""Fixtures of the tests of user programs."""

from py.aio.conftest import run

__all__ = ["run"]
