"""The plans of batches in the checkpoint of a query.

Before Spark runs a batch for the first time, it stores the plan of the batch in the file
``offsets/BATCH``. A repetition has the same plan; a batch that was planned again has another one:

```text
v1
{"batchWatermarkMs":0,"batchTimestampMs":1796000000000,"conf":{...}}
{"orders":{"0":120}}                                                   one line for each source
```
"""

import json
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["Checkpoint", "ranges_of"]

_HEAD_LINES = 2
"""The version, and the time and settings of the batch."""


class Checkpoint:
    """The checkpoint of a query, if this process can read it."""

    def __init__(self, location: str | None, query: str) -> None:
        """Takes the option ``checkpointLocation``, and the id of the query."""
        self._folder = None if location is None else _local(location)
        self._query = query

    def plan_of(self, batch: int) -> str | None:
        """Returns the plan of a batch; None if it cannot be read, as in an object store."""
        if self._folder is None:
            return None
        try:
            if json.loads((self._folder / "metadata").read_text())["id"] != self._query:
                return None
            return (self._folder / "offsets" / str(batch)).read_text()
        except (OSError, ValueError, KeyError, TypeError):
            return None


def ranges_of(plan: str) -> tuple[str, ...]:
    r"""Returns the end of the batch in each source.

    Example:
        >>> ranges_of('v1\n{"batchTimestampMs":7}\n{"orders":{"0":120}}')
        ('{"orders":{"0":120}}',)
    """
    return tuple(plan.splitlines()[_HEAD_LINES:])


def _local(location: str) -> Path | None:
    """Returns the folder of a location in a file system of this machine; None for others."""
    parts = urlsplit(location)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    return None if parts.scheme else Path(location)
