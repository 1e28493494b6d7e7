"""Where the logs end, known as soon as that changes, and cheaply while it does not.

A consumer at the ends waits at the brokers for the next record, a byte of it at the most: it is a
bell, not a reader. While it is silent nothing else is asked, but every few seconds which topics
there are, and more rarely, the more there are, everything.
"""

import time
from dataclasses import replace

import streamlog
from streamlog.errors import StreamlogError
from streamlog.spark.clients import client_of
from streamlog.spark.options import Connection
from streamlog.spark.reading.logs import Logs, State

__all__ = ["Watch"]

_LOOK_SECONDS = 5.0
"""After so long it is asked which topics match, bell or not; after so long for each, all is."""
_BELL_WAIT_SECONDS = 1.0
"""For so long a broker holds back an answer that has nothing."""


class Watch:
    """Watches the ends of what is read. It can be pickled as long as it has not been asked."""

    def __init__(self, connection: Connection, logs: Logs) -> None:
        """No broker is asked yet."""
        self._connection = connection
        self._logs = logs
        self._bell: streamlog.Consumer[bytes | None] | None = None
        self._bell_topics: list[str] = []
        self._state: State | None = None
        self._asked = 0.0
        self._asked_for_topics = 0.0

    @property
    def known(self) -> State | None:
        """What was last seen."""
        return self._state

    def look(self) -> State:
        """Asks now."""
        self._state = self._logs.state()
        self._asked = self._asked_for_topics = time.monotonic()
        self._arm(self._state)
        return self._state

    def newer(self, than: State, seconds: float) -> State:
        """What there is once it differs from `than`, or after so many seconds what there was."""
        deadline = time.monotonic() + seconds
        state = self._state
        if (
            state is None
            or self._is_old(state)
            or self._find_other_topics(state)
            or self._rings(0.0)
        ):
            state = self.look()
        if state.ends != than.ends:
            return state
        if self._rings(deadline - time.monotonic()):
            state = self.look()
        return state

    def close(self) -> None:
        """Waits no more."""
        bell, self._bell = self._bell, None
        if bell is not None:
            bell.close()

    def _is_old(self, state: State) -> bool:
        return time.monotonic() - self._asked > _LOOK_SECONDS * max(1, len(state.ids))

    def _find_other_topics(self, state: State) -> bool:
        """Asks now and then which topics match: whether they are not those of the state."""
        now = time.monotonic()
        if now - self._asked_for_topics <= _LOOK_SECONDS:
            return False
        self._asked_for_topics = now
        return self._logs.are_others_matched(state)

    def _rings(self, seconds: float) -> bool:
        bell, seconds = self._bell, max(0.0, seconds)
        if bell is None:
            time.sleep(seconds)
            return False
        began = time.monotonic()
        try:
            return any(True for _ in bell.take(1, timeout=seconds))
        except StreamlogError:
            # Something is wrong with a topic: the look that follows tells what.
            self.close()
            time.sleep(max(0.0, seconds - (time.monotonic() - began)))
            return True

    def _arm(self, state: State) -> None:
        topics = sorted(state.ids)
        try:
            if self._bell is not None and self._bell_topics != topics:
                self.close()
            if self._bell is None and topics:
                self._bell = self._new_bell(topics)
                self._bell_topics = topics
            if self._bell is not None:
                self._move(self._bell, state)
        except StreamlogError:
            self.close()

    def _new_bell(self, topics: list[str]) -> "streamlog.Consumer[bytes | None]":
        tiny = (("fetch.max.bytes", "1"), ("max.partition.fetch.bytes", "1"))
        connection = replace(self._connection, settings=(*self._connection.settings, *tiny))
        return client_of(connection).consumer(
            topics,
            start="latest",
            on_out_of_range="latest",
            buffer=1,
            fetch_wait=_BELL_WAIT_SECONDS,
            config={"allow.auto.create.topics": False},
        )

    def _move(self, bell: "streamlog.Consumer[bytes | None]", state: State) -> None:
        at = bell.positions()
        moved = {
            place: state.ends.get(place, 0)
            for place in at
            if place in state.ends and at[place] != state.ends[place]
        }
        if moved:
            bell.seek(moved)
        unread = [place for place in at if place not in state.ends]
        if unread:
            bell.pause(unread)
