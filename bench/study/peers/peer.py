"""The common part of all peers."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

Mode: TypeAlias = Literal["cached", "flushed"]
"""The two promises that are compared: a record acknowledged in the page cache, or on the disk."""

ClientName: TypeAlias = Literal["load", "java"]


@dataclass(frozen=True)
class Setting:
    """A setting that the study changes, and its reason."""

    name: str
    value: str
    reason: str
    mode: Mode | None = None
    """Only in this mode; None for both."""


def promised(*, cached: str, flushed: str | None = None) -> Mapping[Mode, str]:
    """Returns what an acknowledgement means in each mode; None for a mode without an offer."""
    return {"cached": cached} if flushed is None else {"cached": cached, "flushed": flushed}


@dataclass(frozen=True)
class Running:
    """A peer that accepts connections."""

    address: str
    pids: Sequence[int]
    data: Path


class Peer(ABC):
    """A broker of the study."""

    name: str
    title: str
    is_required: bool = False
    """The study fails without it, unless PEERS= leaves it out."""
    clients: tuple[ClientName, ...] = ("java",)
    packages: tuple[tuple[str, str], ...] = ()
    """Debian packages, each behind a command that it brings."""
    needs_java: bool = True
    has_batches: bool = False
    """The client sends records in batches of a size that it is told."""
    has_partitions: bool = False
    has_one_log: bool = False
    """It has one topic, and is started anew for each row."""
    promises: Mapping[Mode, str]
    """The meaning of an acknowledgement in each mode that the peer offers."""
    settings: Sequence[Setting] = ()
    load_options: tuple[str, ...] = ()
    """Options of the load `bench/load`."""
    java_kind: str = ""
    """Its name for the load in Java."""

    def missing(self) -> str | None:
        """Returns why it cannot be measured here, after the installation; None if it can."""
        return None

    @abstractmethod
    def version(self) -> str:
        """Returns its version."""

    @abstractmethod
    def running(self, mode: Mode, folder: Path) -> AbstractContextManager[Running]:
        """Runs it during the block, with all of its data in `folder`."""

    def rows(self, mode: Mode) -> dict[str, str]:
        """Its settings in a mode."""
        return {row.name: row.value for row in self.settings if row.mode in (None, mode)}
