"""Records as Arrow columns."""

from typing import Self, final

import pyarrow
from typing_extensions import CapsuleType

__all__ = ["ArrowBatches"]

@final
class ArrowBatches:
    """Iterates over Arrow record batches of the records read.

    As a whole it is an Arrow stream (``__arrow_c_stream__``) for libraries that accept it, such
    as ``pyarrow.table`` or ``polars.DataFrame``.

    Example:
        >>> batches = client.topic("orders").arrow(columns=["key"])
        >>> pyarrow.table(batches)["key"].to_pylist()
        [b'ada', b'grace', b'ada']
    """

    def __iter__(self) -> Self:
        """The iterator itself."""

    def __next__(self) -> pyarrow.RecordBatch:
        """Returns the next batch.

        Raises:
            StopIteration: The consumer was closed, or the end is reached.
            OffsetOutOfRange: The position is outside the log, with ``on_out_of_range="error"``.
        """

    @property
    def schema(self) -> pyarrow.Schema:
        """The schema of the batches. All fields are nullable."""

    def positions(self) -> dict[tuple[str, int], int | None]:
        """Returns the next offset to read, by topic and partition; None until it is known.

        Offsets may have gaps, so it may exceed the last row's offset plus one; at the end of a
        bounded read it is the end of the read.

        Example:
            >>> batches = client.topic("orders").arrow()
            >>> sum(batch.num_rows for batch in batches)
            3
            >>> batches.positions()
            {('orders', 0): 3}
        """

    def __arrow_c_schema__(self) -> CapsuleType:
        """The schema of the batches, for other libraries."""

    def __arrow_c_stream__(self, requested_schema: CapsuleType | None = None) -> CapsuleType:
        """All further batches, for other libraries; they are taken from this iterator."""
