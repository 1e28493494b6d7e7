"""Driver of kcat, a command: each verb runs it once, and a member of a group for its lifetime.

Its JSON has strings of bytes instead of characters, so it is read as Latin-1.
"""

import json
import re
import selectors
import subprocess
import sys
import time
from itertools import groupby
from typing import Any

from interop.drivers.python.serving import Refusal, Start, Verbs, serve, unsupported
from interop.support.records import Json, Record

WAIT_SECONDS = 20
# Long, so that no record has them within.
RECORD_END = b"<end of the record>"
KEY_END = b"<end of the key>"
KINDS = {
    "Unknown topic": "unknown_topic",
    "Message size too large": "too_large",
    "out of range": "out_of_range",
}
ASSIGNED = re.compile(r"rebalanced .*: (assigned|revoked): (.*)")


def refusal(text: str) -> Refusal:
    """An error in the protocol's words."""
    kinds = [kind for words, kind in KINDS.items() if words in text]
    return Refusal(kinds[0] if kinds else "other", text)


def record_of(line: bytes) -> Record:
    """A record from a line of JSON."""
    fields = json.loads(line.decode("latin-1"))

    def raw(text: str | None) -> bytes | None:
        return None if text is None else text.encode("latin-1")

    flat = fields.get("headers", [])
    headers = tuple((name, raw(text)) for name, text in zip(flat[::2], flat[1::2], strict=True))
    return Record(
        raw(fields["key"]),
        raw(fields["payload"]),
        headers,
        fields["partition"],
        fields["ts"],
        fields["offset"],
    )


def frame(record: Record) -> bytes:
    """A record as kcat reads it."""
    key = b"" if record.key is None else record.key + KEY_END
    return key + (record.value or b"") + RECORD_END


def escaped(delimiter: bytes) -> str:
    """A delimiter as an argument."""
    return "".join(f"\\x{byte:02x}" for byte in delimiter)


class Kcat(Verbs):
    """The verbs, in terms of kcat's options."""

    def __init__(self, address: str) -> None:
        """Connects with each run."""
        self.command = ["kcat", "-b", address]
        self.topic = ""
        self.partition = 0
        self.position = 0
        self.member: Member | None = None

    def hello(self) -> Json:
        """Name and version."""
        text = subprocess.run(["kcat", "-V"], check=True, capture_output=True, text=True).stdout
        found = re.search(r"Version (\S+)", text)
        assert found
        return {"client": "kcat", "version": found[1]}

    def produce(
        self, topic: str, records: list[Record], *, codec: str, acks: str, idempotent: bool
    ) -> list[int | None]:
        """Runs once for each stretch of records with the same headers."""
        options = ["-P", "-t", topic, "-z", codec, "-X", f"acks={acks}", "-D", escaped(RECORD_END)]
        options += ["-K", escaped(KEY_END), "-X", f"enable.idempotence={idempotent}".lower()]
        options += [
            "-X",
            "message.max.bytes=8388608",
            "-X",
            "topic.metadata.propagation.max.ms=1000",
        ]
        if any(record.timestamp is not None for record in records):
            raise unsupported("timestamps")

        def alike(record: Record) -> tuple[object, ...]:
            return record.partition, record.headers, record.value is None

        for (partition, _, is_null), run in groupby(records, alike):
            rows = list(run)
            command = [*self.command, *options, "-p", str(partition), *(["-Z"] if is_null else [])]
            self._run([*command, *header_options(rows[0])], b"".join(map(frame, rows)))
        return [None] * len(records)

    def _run(self, command: list[Any], data: bytes) -> bytes:
        done = subprocess.run(command, input=data, capture_output=True, timeout=60, check=False)
        errors = done.stderr.decode(errors="replace")
        # It reports a broken connection as an error too, and goes on.
        if done.returncode != 0 or "Delivery failed" in errors:
            raise refusal(errors)
        return done.stdout

    def open(self, topic: str, partition: int, start: Start) -> None:
        """Resolves the offset; reading is another run."""
        self.topic, self.partition = topic, partition
        match start:
            case {"offset": int(offset)}:
                self.position = offset
                return
            case {"time": int(time_ms)}:
                asked = time_ms
            case _:
                asked = {"start": -2, "end": -1}[str(start)]
        answer = self._run([*self.command, "-Q", "-t", f"{topic}:{partition}:{asked}"], b"")
        self.position = int(answer.split()[-1])

    def read(self, count: int, seconds: float) -> list[Record]:
        """Runs until it has read so many."""
        command = [*self.command, "-C", "-q", "-J", "-t", self.topic, "-p", str(self.partition)]
        command += ["-o", str(self.position), "-c", str(count), "-X", "auto.offset.reset=error"]
        try:
            done = subprocess.run(command, capture_output=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired as late:
            done = subprocess.CompletedProcess(command, 0, late.stdout or b"", late.stderr or b"")
        records = [record_of(line) for line in done.stdout.splitlines() if line]
        if done.returncode != 0 or (not records and done.stderr):
            raise refusal(done.stderr.decode(errors="replace"))
        if records:
            self.position = (records[-1].offset or 0) + 1
        return records

    def join(self, group: str, topic: str, session_ms: int) -> None:
        """Starts a member."""
        command = [*self.command, "-G", group, topic, "-J", "-u"]
        command += ["-X", f"session.timeout.ms={session_ms}", "-X", "auto.offset.reset=earliest"]
        command += ["-X", f"heartbeat.interval.ms={session_ms // 6}"]
        self.member = Member(command)

    def poll(self, count: int, seconds: float) -> tuple[list[Record], list[int]]:
        """Takes what the member has printed."""
        assert self.member is not None
        return self.member.take(count, seconds), sorted(self.member.assignment)

    def commit(self) -> None:
        """It commits by itself."""
        raise unsupported("commit that waits for a word")


def header_options(record: Record) -> list[bytes]:
    """The headers as arguments."""
    options = []
    for name, value in record.headers:
        if b"\0" in (value or b""):
            raise unsupported("header values with zero bytes")
        options += [b"-H", name.encode() + (b"" if value is None else b"=" + value)]
    return options


class Member:
    """A running kcat that belongs to a group; it dies with its driver."""

    def __init__(self, command: list[str]) -> None:
        """Starts it."""
        # A killed driver could not end it otherwise, and it would stay in the group.
        dying = ["setpriv", "--pdeathsig", "KILL", *command]
        self.process = subprocess.Popen(dying, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assignment: set[int] = set()
        self.lines: list[bytes] = []
        self.unread = {"records": b"", "notes": b""}
        self.selector = selectors.DefaultSelector()
        for pipe, name in ((self.process.stdout, "records"), (self.process.stderr, "notes")):
            assert pipe is not None
            self.selector.register(pipe, selectors.EVENT_READ, name)

    def take(self, count: int, seconds: float) -> list[Record]:
        """Up to so many records within the time."""
        deadline = time.monotonic() + seconds
        while len(self.lines) < count and (left := deadline - time.monotonic()) > 0:
            for key, _ in self.selector.select(left):
                assert not isinstance(key.fileobj, int)
                self._hear(key.data, key.fileobj.read1(1 << 16))  # type: ignore[attr-defined]
        given, self.lines = self.lines[:count], self.lines[count:]
        return [record_of(line) for line in given]

    def _hear(self, name: str, data: bytes) -> None:
        *lines, self.unread[name] = (self.unread[name] + data).split(b"\n")
        if name == "records":
            self.lines += lines
            return
        for line in lines:
            if found := ASSIGNED.search(line.decode()):
                partitions = {int(number) for number in re.findall(r"\[(\d+)\]", found[2])}
                is_new = found[1] == "assigned"
                self.assignment = partitions if is_new else self.assignment - partitions
            elif b"ERROR" in line:
                raise refusal(line.decode(errors="replace"))


if __name__ == "__main__":
    serve(Kcat(sys.argv[1]))
