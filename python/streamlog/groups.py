"""How consumers stand to each other."""

from enum import Enum
from typing import Final, Literal

__all__ = ["BROADCAST", "Broadcast"]


class Broadcast(Enum):
    """The type of `BROADCAST`."""

    BROADCAST = "every process reads everything"


BROADCAST: Final[Literal[Broadcast.BROADCAST]] = Broadcast.BROADCAST
"""Given instead of a group's name, it has every consumer read all that is published from now on."""
