"""The ends of the logs, noticed as soon as they change, at little cost while they do not.

A consumer at the ends waits in long polls at the brokers for the next record, with the smallest
fetch size: it only signals new records. While it signals none, requests are rare: every few seconds
for the matching topics, and for all ends at an interval that grows with the number of topics.
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
"""The interval of requests for the matching topics. Multiplied by the number of topics, it is the
interval of requests for all ends."""
_WAKEUP_WAIT_SECONDS = 1.0
"""The maximal wait of a fetch request at the broker."""


class Watch:
    """Watches the ends of the logs. It can be pickled before its first use."""

    def __init__(self, connection: Connection, logs: Logs) -> None:
        """Does not contact a broker yet."""
        self._connection = connection
        self._logs = logs
        self._wakeup: streamlog.Consumer[bytes | None] | None = None
        self._wakeup_topics: list[str] = []
        self._state: State | None = None
        self._asked = 0.0
        self._asked_for_topics = 0.0

    @property
    def known(self) -> State | None:
        """The last known state."""
        return self._state

    def look(self) -> State:
        """Requests the current state."""
        self._state = self._logs.state()
        self._asked = self._asked_for_topics = time.monotonic()
        self._arm(self._state)
        return self._state

    def newer(self, than: State, seconds: float) -> State:
        """Returns a state that differs from `than`, or the last one after this many seconds."""
        deadline = time.monotonic() + seconds
        state = self._state
        if (
            state is None
            or self._is_old(state)
            or self._find_other_topics(state)
            or self._wakes(0.0)
        ):
            state = self.look()
        if state.ends != than.ends:
            return state
        if self._wakes(deadline - time.monotonic()):
            state = self.look()
        return state

    def close(self) -> None:
        """Stops waiting."""
        wakeup, self._wakeup = self._wakeup, None
        if wakeup is not None:
            wakeup.close()

    def _is_old(self, state: State) -> bool:
        return time.monotonic() - self._asked > _LOOK_SECONDS * max(1, len(state.ids))

    def _find_other_topics(self, state: State) -> bool:
        """Requests the matching topics every few seconds; returns true if they have changed."""
        now = time.monotonic()
        if now - self._asked_for_topics <= _LOOK_SECONDS:
            return False
        self._asked_for_topics = now
        return self._logs.are_others_matched(state)

    def _wakes(self, seconds: float) -> bool:
        wakeup, seconds = self._wakeup, max(0.0, seconds)
        if wakeup is None:
            time.sleep(seconds)
            return False
        began = time.monotonic()
        try:
            return any(True for _ in wakeup.take(1, timeout=seconds))
        except StreamlogError:
            # If the error is that of a topic, the following request for all ends raises it too.
            self.close()
            time.sleep(max(0.0, seconds - (time.monotonic() - began)))
            return True

    def _arm(self, state: State) -> None:
        topics = sorted(state.ids)
        try:
            if self._wakeup is not None and self._wakeup_topics != topics:
                self.close()
            if self._wakeup is None and topics:
                self._wakeup = self._new_wakeup(topics)
                self._wakeup_topics = topics
            if self._wakeup is not None:
                self._move(self._wakeup, state)
        except StreamlogError:
            self.close()

    def _new_wakeup(self, topics: list[str]) -> "streamlog.Consumer[bytes | None]":
        tiny = (("fetch.max.bytes", "1"), ("max.partition.fetch.bytes", "1"))
        connection = replace(self._connection, settings=(*self._connection.settings, *tiny))
        return client_of(connection).consumer(
            topics,
            start="latest",
            on_out_of_range="latest",
            buffer=1,
            fetch_wait=_WAKEUP_WAIT_SECONDS,
            config={"allow.auto.create.topics": False},
        )

    def _move(self, wakeup: "streamlog.Consumer[bytes | None]", state: State) -> None:
        at = wakeup.positions()
        moved = {
            place: state.ends.get(place, 0)
            for place in at
            if place in state.ends and at[place] != state.ends[place]
        }
        if moved:
            wakeup.seek(moved)
        unread = [place for place in at if place not in state.ends]
        if unread:
            wakeup.pause(unread)
