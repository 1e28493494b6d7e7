"""The suite's end of the line protocol: one driver process, asked and answered line by line."""

import json
import os
import selectors
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from interop.support.records import Json, Record

TESTS = Path(__file__).parents[2]
ANSWER_SECONDS = 60.0
STOP_SECONDS = 10.0


class Refused(Exception):
    """The client reported an error; `kind` is one of the protocol's."""

    def __init__(self, kind: str, text: str) -> None:
        """Keeps the client's own words as `text`."""
        super().__init__(f"{kind}: {text}")
        self.kind = kind


class Unsupported(Refused):
    """The client cannot do it, whatever the broker."""


class Driver:
    """A running driver. Each method is a verb of the protocol."""

    def __init__(self, command: Sequence[str], address: str, log: Path) -> None:
        """Starts it; `log` gets what it writes to standard error."""
        self.log_path = log
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                [*command, address],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, "PYTHONPATH": str(TESTS)},
            )
        self._unread = b""

    def hello(self) -> Json:
        """Name and version of the client."""
        return self.ask("hello")

    def create(self, topic: str, partitions: int, config: dict[str, str]) -> None:
        """Creates a topic."""
        self.ask("create", topic=topic, partitions=partitions, config=config)

    def delete(self, topic: str) -> None:
        """Deletes a topic."""
        self.ask("delete", topic=topic)

    def produce(
        self,
        topic: str,
        records: Sequence[Record],
        *,
        codec: str = "none",
        acks: str = "all",
        idempotent: bool = False,
    ) -> list[int | None]:
        """Produces and returns the offsets."""
        rows = [record.json() for record in records]
        answer = self.ask(
            "produce", topic=topic, codec=codec, acks=acks, idempotent=idempotent, records=rows
        )
        offsets: list[int | None] = answer["offsets"]
        assert len(offsets) == len(rows), "a driver answers for every record"
        return offsets

    def open(self, topic: str, start: str | Json = "start", partition: int = 0) -> None:
        """Begins to read a partition at one of its ends, an offset or a time."""
        self.ask("open", topic=topic, partition=partition, **{"from": start})

    def read(self, count: int, seconds: float = 20.0) -> list[Record]:
        """Reads so many records, or what came within the time."""
        answer = self.ask("read", count=count, seconds=seconds)
        return [Record.of_json(row) for row in answer["records"]]

    def seek(self, offset: int) -> None:
        """Goes on at another offset."""
        self.ask("seek", offset=offset)

    def join(self, group: str, topic: str, session_ms: int) -> None:
        """Becomes a member of a group."""
        self.ask("join", group=group, topic=topic, session_ms=session_ms)

    def poll(self, count: int, seconds: float) -> tuple[list[Record], list[int]]:
        """Takes up to so many records as a member; also says which partitions it has."""
        answer = self.ask("poll", count=count, seconds=seconds)
        return [Record.of_json(row) for row in answer["records"]], answer["assignment"]

    def commit(self) -> None:
        """Commits what `poll` gave out."""
        self.ask("commit")

    def leave(self) -> None:
        """Leaves the group."""
        self.ask("leave")

    def ask(self, verb: str, **arguments: object) -> Json:
        """Sends one request and waits for its answer.

        Raises:
            Refused: The client reported an error.
            AssertionError: There was no answer in time, or the driver ended.
        """
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps({"verb": verb, **arguments}).encode() + b"\n")
            self.process.stdin.flush()
            answer = json.loads(self._line(verb))
        except BaseException:
            # Who did not wait for an answer would take it for the next one.
            self.kill()
            raise
        if "error" in answer:
            kind, text = answer["error"], answer["text"]
            raise (Unsupported if kind == "unsupported" else Refused)(kind, text)
        ok: Json = answer["ok"]
        return ok

    def _line(self, verb: str) -> bytes:
        pipe = self.process.stdout
        assert pipe is not None
        deadline = time.monotonic() + ANSWER_SECONDS
        parts = [self._unread]
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            while b"\n" not in parts[-1]:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise AssertionError(f"no answer to {verb} in {ANSWER_SECONDS} s{self.log()}")
                part = os.read(pipe.fileno(), 1 << 20)
                if not part:
                    raise AssertionError(f"the driver ended during {verb}{self.log()}")
                parts.append(part)
        line, self._unread = b"".join(parts).split(b"\n", maxsplit=1)
        return line

    def log(self) -> str:
        """The end of what it has written to standard error."""
        return f"\nits log:\n{self.log_path.read_text(errors='replace')[-4000:]}"

    def is_running(self) -> bool:
        """Return true while the driver accepts commands."""
        return self.process.poll() is None

    def kill(self) -> None:
        """Ends it with SIGKILL: it cannot leave its group."""
        self.process.kill()
        self._close()

    def stop(self) -> None:
        """Ends its input and waits for it to end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self._close()

    def _close(self) -> None:
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None and not pipe.closed:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue
