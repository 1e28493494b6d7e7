"""Lost records in a range of a load: an error, or noted in its outcome."""

from streamlog.errors import StreamlogError
from streamlog.spark.offline.plan import Loss

__all__ = ["Gone", "RangeLosses"]

_NOWHERE = -1
"""A value in place of the earliest offset, for a log that does not exist."""


class Gone(StreamlogError):
    """Records of a range were deleted, and losses are fatal."""

    def __init__(self, loss: Loss) -> None:
        """Keeps the loss."""
        super().__init__(str(loss))
        self.loss = loss


class RangeLosses:
    """The losses of one range, each noted once, however often the range is read."""

    def __init__(self, is_fatal: bool) -> None:
        """With `is_fatal`, the first loss is an error."""
        self._is_fatal = is_fatal
        self.noted: list[Loss] = []

    def outside(self, place: tuple[str, int], wanted: int, bounds: tuple[int, int]) -> None:
        """Handles records deleted by retention, an administrator or a truncation.

        Raises:
            Gone: Losses are fatal.
        """
        earliest, latest = bounds
        reason = "the log was truncated" if wanted >= latest else "earlier records were deleted"
        self._note(Loss(*place, wanted, earliest, reason))

    def gone(self, place: tuple[str, int], wanted: int) -> None:
        """Handles a deleted topic; the records that were read before are valid.

        Raises:
            Gone: Losses are fatal.
        """
        self._note(Loss(*place, wanted, _NOWHERE, "the topic was deleted"))

    def replaced(self, place: tuple[str, int], wanted: int) -> None:
        """Handles a recreated topic: no record that was read may become part of a file.

        Raises:
            Gone: Always.
        """
        raise Gone(Loss(*place, wanted, _NOWHERE, "the topic was deleted and recreated"))

    def _note(self, loss: Loss) -> None:
        if self._is_fatal:
            raise Gone(loss)
        if loss not in self.noted:
            self.noted.append(loss)
