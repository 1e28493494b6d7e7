"""The kinds of the topic that a run writes to."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any


class TopicKind(StrEnum):
    """The kind of a topic, by what its brokers do with the records of a producer."""

    RECORD = "record"
    """A topic with default settings: its batches stay as they are."""
    APPEND_TIME = "append-time"
    """The leader sets the timestamps; its followers must store the same."""
    COMPACTED = "compacted"
    """Only the last record of each key is kept; each broker removes the others by itself."""
    BYTE = "byte"
    """Offsets count bytes, so that those of neighbouring batches have a gap between them."""

    @property
    def settings(self) -> dict[str, str]:
        """The settings of the topic, with segments so small that a run fills several."""
        return {"segment.bytes": str(SEGMENT_BYTES[self]), **SETTINGS[self]}

    def is_shown_by(self, batches: Sequence[Mapping[str, Any]]) -> bool:
        """Returns whether the batches of a log are those of a topic of this kind."""
        match self:
            case TopicKind.RECORD:
                return all(batch["timestamp_type"] == "CreateTime" for batch in batches)
            case TopicKind.APPEND_TIME:
                return all(batch["timestamp_type"] == "LogAppendTime" for batch in batches)
            case TopicKind.COMPACTED:
                # A log from offset 0 on has a record at each offset, if none has been removed.
                records = sum(int(batch["record_count"]) for batch in batches)
                return records < int(batches[-1]["last_offset"]) + 1
            case TopicKind.BYTE:
                return all(batch["size"] == _span(batch) for batch in batches)


SEGMENT_BYTES = {
    TopicKind.RECORD: 4 << 20,
    TopicKind.APPEND_TIME: 4 << 20,
    # Only segments that are full are compacted.
    TopicKind.COMPACTED: 128 << 10,
    TopicKind.BYTE: 1 << 20,
}
SETTINGS = {
    TopicKind.RECORD: {},
    TopicKind.APPEND_TIME: {"message.timestamp.type": "LogAppendTime"},
    TopicKind.COMPACTED: {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"},
    TopicKind.BYTE: {"offset.unit": "byte"},
}


def _span(batch: Mapping[str, Any]) -> int:
    """The number of offsets that a batch takes."""
    return int(batch["last_offset"]) + 1 - int(batch["base_offset"])
