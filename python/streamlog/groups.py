"""Group modes of consumers."""

from enum import Enum
from typing import Final, Literal

__all__ = ["BROADCAST", "Broadcast"]


class Broadcast(Enum):
    """The type of `BROADCAST`."""

    BROADCAST = "every process reads everything"


BROADCAST: Final[Literal[Broadcast.BROADCAST]] = Broadcast.BROADCAST
"""A value of ``group=``: every consumer reads all records published from now on."""
