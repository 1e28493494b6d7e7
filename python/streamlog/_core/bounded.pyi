"""Iterators that end by themselves."""

from collections.abc import Sequence
from typing import Any, Generic, Self, final

from streamlog._core import Client
from streamlog._core.arrow import ArrowBatches
from streamlog._core.reading import _K, _V, Message
from streamlog.backwards import Decoders

__all__ = ["Bounded", "Range", "UntilEnd", "open_range"]

@final
class Bounded(Generic[_V, _K]):
    """Iterates over a limited number of a consumer's messages, for a limited time."""

    def __iter__(self) -> Self:
        """The iterator itself."""

    def __next__(self) -> Message[_V, _K]:
        """Returns the next message."""

@final
class UntilEnd(Generic[_V, _K]):
    """Iterates over the messages of a consumer up to fixed ends."""

    def __iter__(self) -> Self:
        """The iterator itself."""

    def __next__(self) -> Message[_V, _K]:
        """Returns the next message."""

    def arrow(
        self,
        *,
        columns: Sequence[str] | None = None,
        max_rows: int = 65536,
        max_bytes: int | str = "4 MiB",
        max_wait: float = 0.2,
    ) -> ArrowBatches:
        """Iterates over Arrow record batches up to these ends, like ``Consumer.arrow``."""

@final
class Range:
    """Iterates over the messages of a topic between offsets; created by ``Topic``."""

    def __iter__(self) -> Self:
        """The iterator itself."""

    def __next__(self) -> Message[Any]:
        """Returns the next message."""

    def arrow(
        self,
        *,
        columns: Sequence[str] | None = None,
        max_rows: int = 65536,
        max_bytes: int | str = "4 MiB",
        max_wait: float = 0.2,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> ArrowBatches:
        """Iterates over Arrow record batches, like ``Consumer.arrow``.

        All batches together have at most ``limit`` rows. With a ``timeout``, a batch that takes
        longer than that many seconds raises RequestTimeout. The next call resumes at the same
        position.
        """

def open_range(
    client: Client,
    topic: str,
    parts: Sequence[tuple[int, int, int]],
    on_out_of_range: str = "earliest",
    decoders: Decoders | None = None,
) -> Range:
    """Reads each of these partitions from an offset up to another, excluded."""
