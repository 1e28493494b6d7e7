"""What is read as columns."""

from typing import Self, final

import pyarrow
from typing_extensions import CapsuleType

__all__ = ["ArrowBatches"]

@final
class ArrowBatches:
    """Iterates over Arrow record batches of what is read.

    Whole, it is an Arrow stream (``__arrow_c_stream__``) for whatever takes one, such as
    ``pyarrow.table`` or ``polars.DataFrame``.

    Example:
        >>> batches = client.topic("orders").arrow(columns=["key"])
        >>> pyarrow.table(batches)["key"].to_pylist()
        [b'ada', b'grace', b'ada']
    """

    def __iter__(self) -> Self:
        """The iterator itself."""

    def __next__(self) -> pyarrow.RecordBatch:
        """The next batch.

        Raises:
            StopIteration: The consumer was closed, or the end is reached.
            OffsetOutOfRange: The log does not have the position, with ``on_out_of_range="error"``.
        """

    @property
    def schema(self) -> pyarrow.Schema:
        """The type of the batches. All fields may hold nulls."""

    def positions(self) -> dict[tuple[str, int], int | None]:
        """The offset after what was given out, by topic and partition; None until it is known.

        Offsets may have gaps, so that it can lie beyond the last row's offset and one; at the end
        of a bounded read it is where the read was to stop.

        Example:
            >>> batches = client.topic("orders").arrow()
            >>> sum(batch.num_rows for batch in batches)
            3
            >>> batches.positions()
            {('orders', 0): 3}
        """

    def __arrow_c_schema__(self) -> CapsuleType:
        """The type of the batches, for other libraries."""

    def __arrow_c_stream__(self, requested_schema: CapsuleType | None = None) -> CapsuleType:
        """All batches that come, for other libraries; they are taken from this iterator."""
