"""The wall clock of a broker, moved while it runs through `tests/preload/faults.c`."""

import struct
from pathlib import Path

_FORMAT = "qq"


class Clock:
    """A clock that is ahead by a number of seconds, and counts how often it is read so."""

    def __init__(self, path: Path) -> None:
        """Keeps its state in a file that the process maps into its memory."""
        self._path = path
        path.write_bytes(struct.pack(_FORMAT, 0, 0))
        self.env = {"STREAMLOG_CLOCK_FILE": str(path)}

    def jump(self, ahead: int) -> None:
        """Moves the clock to so many seconds ahead of the machine's."""
        with self._path.open("r+b") as file:
            file.write(struct.pack("q", ahead))

    @property
    def reads(self) -> int:
        """The number of times that the clock was read while it was ahead or behind."""
        reads: int = struct.unpack(_FORMAT, self._path.read_bytes())[1]
        return reads
