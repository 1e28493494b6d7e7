"""Reading that ends by itself."""

from collections.abc import Sequence
from typing import Any, Generic, Self, final

from streamlog._core import Client
from streamlog._core.arrow import ArrowBatches
from streamlog._core.reading import _K, _V, Message
from streamlog.backwards import Decoders

__all__ = ["Bounded", "Range", "UntilEnd"]

@final
class Bounded(Generic[_V, _K]):
    """Iterates over so many messages of a consumer, for so long."""

    def __iter__(self) -> Self:
        """The iterator itself."""

    def __next__(self) -> Message[_V, _K]:
        """The next message."""

@final
class UntilEnd(Generic[_V, _K]):
    """Iterates over the messages of a consumer up to ends that are fixed."""

    def __iter__(self) -> Self:
        """The iterator itself."""

    def __next__(self) -> Message[_V, _K]:
        """The next message."""

    def arrow(
        self,
        *,
        columns: Sequence[str] | None = None,
        max_rows: int = 65536,
        max_bytes: int | str = "4 MiB",
        max_wait: float = 0.2,
    ) -> ArrowBatches:
        """Iterates over Arrow record batches up to these ends, as ``Consumer.arrow`` has them."""

@final
class Range:
    """Iterates over the messages of a topic between offsets; ``Topic`` makes it."""

    def __new__(
        cls,
        client: Client,
        topic: str,
        parts: Sequence[tuple[int, int, int]],
        on_out_of_range: str = "earliest",
        decoders: Decoders | None = None,
    ) -> Self:
        """Reads each partition from an offset to before another."""

    def __iter__(self) -> Self:
        """The iterator itself."""

    def __next__(self) -> Message[Any]:
        """The next message."""

    def arrow(
        self,
        *,
        columns: Sequence[str] | None = None,
        max_rows: int = 65536,
        max_bytes: int | str = "4 MiB",
        max_wait: float = 0.2,
        timeout: float | None = None,
    ) -> ArrowBatches:
        """Iterates over Arrow record batches, as ``Consumer.arrow`` has them.

        With a ``timeout``, a batch that has not come after so many seconds raises RequestTimeout.
        The next call goes on where it was.
        """
