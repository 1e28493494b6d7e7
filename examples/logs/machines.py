"""Simulated machines: their logs, page views and metrics.

All of it is derived from a seed. Now and then a machine has a problem: a full disk, an unresponsive
upstream, a killed process. Then its errors increase, its pages fail, its load rises.
"""

import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from logs.config import Config

LATE_MS = 800
"""The maximal age of a record compared with the record before it."""

_SYSTEM = [
    (6, "sshd", "Accepted publickey for deploy from 10.0.{a}.{b} port {port} ssh2"),
    (6, "systemd", "Started session-{a}.scope - Session {a} of User deploy."),
    (6, "CRON", "(root) CMD (run-parts --report /etc/cron.hourly)"),
    (5, "kernel", "eth0: link is up, 10000 Mbps, full duplex"),
    (4, "nginx", "upstream response is buffered to a temporary file, client: 10.0.{a}.{b}"),
    (6, "postgres", "checkpoint complete: wrote {port} buffers ({a}.{b}%)"),
    (4, "ntpd", "kernel reports TIME_ERROR: 0x{a:x}: Clock Unsynchronized"),
]
_TROUBLE = [
    (3, "kernel", "EXT4-fs error (device sda{a}): ext4_find_entry: reading directory lblock {b}"),
    (2, "kernel", "Out of memory: Killed process {port} (java) total-vm:{port}kB"),
    (3, "nginx", "connect() failed (111: Connection refused) upstream: http://10.0.{a}.{b}:8080/"),
    (3, "postgres", "could not write to file pg_wal/xlogtemp.{port}: No space left on device"),
    (3, "systemd", "app.service: Failed with result 'exit-code'."),
]
_PAGES = [
    "/",
    "/search?q={a}",
    "/item/{port}",
    "/cart",
    "/checkout",
    "/static/app.{a}.js",
    "/login",
]
_AGENTS = [
    "Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 19_1 like Mac OS X) Safari/605.1",
    "curl/8.14.1",
]


@dataclass(frozen=True)
class Record:
    """A record of a machine."""

    topic: str
    host: str
    value: bytes
    time_ms: int
    is_error: bool


@dataclass
class Machine:
    """A host with its current condition."""

    name: str
    load: float = 0.4
    bad_until_ms: int = 0


class Machines:
    """All hosts, with the true counts of their errors, to compare alerts with."""

    def __init__(self, config: Config) -> None:
        """Starts without records."""
        self._config = config
        self._random = random.Random(config.generator.seed)
        kinds = ["web", "web", "db", "cache"]
        self._hosts = [
            Machine(f"{kinds[number % len(kinds)]}-{number + 1}.example.org")
            for number in range(config.generator.hosts)
        ]
        self.errors: Counter[tuple[str, int]] = Counter()
        """Errors by host and start of the window, in milliseconds."""

    def records(self, start_ms: int) -> Iterator[Record]:
        """Yields records from a start time on, for the configured duration, roughly in order."""
        rate = self._config.generator.records_per_second
        for number in range(self._config.generator.seconds * rate):
            now_ms = start_ms + number * 1000 // rate
            host = self._random.choice(self._hosts)
            if number % rate == 0:
                self._change_moods(now_ms)
            time_ms = max(start_ms, now_ms - self._random.randrange(LATE_MS))
            record = self._record(host, time_ms, is_bad=now_ms < host.bad_until_ms)
            if record.is_error:
                window = self._config.alerts.window_seconds * 1000
                self.errors[host.name, record.time_ms // window * window] += 1
            yield record

    def alerts(self) -> dict[tuple[str, int], int]:
        """Returns the errors of each host and window that should cause an alert."""
        least = self._config.alerts.errors
        return {place: count for place, count in self.errors.items() if count >= least}

    def _change_moods(self, now_ms: int) -> None:
        for host in self._hosts:
            if now_ms >= host.bad_until_ms and self._random.random() < 0.05:
                host.bad_until_ms = now_ms + self._random.randrange(3_000, 9_000)
            aim = 6.0 if now_ms < host.bad_until_ms else 0.5
            host.load += 0.4 * (aim - host.load) + self._random.uniform(-0.1, 0.1)

    def _record(self, host: Machine, time_ms: int, is_bad: bool) -> Record:
        kind = self._random.random()
        topics = self._config.topics
        if kind < 0.45:
            value, is_error = self._system_line(host, time_ms, is_bad)
            return Record(topics.system, host.name, value, time_ms, is_error)
        if kind < 0.9:
            value, is_error = self._page_view(time_ms, is_bad)
            return Record(topics.pages, host.name, value, time_ms, is_error)
        metrics = {
            "load": round(max(host.load, 0.0), 2),
            "memory": round(self._random.uniform(0.4, 0.95), 3),
            "disk": round(self._random.uniform(0.5, 0.7), 3),
        }
        return Record(topics.metrics, host.name, json.dumps(metrics).encode(), time_ms, False)

    def _system_line(self, host: Machine, time_ms: int, is_bad: bool) -> tuple[bytes, bool]:
        is_error = self._random.random() < (0.35 if is_bad else 0.01)
        severity, program, text = self._random.choice(_TROUBLE if is_error else _SYSTEM)
        time = _moment(time_ms).isoformat(timespec="milliseconds")
        pid = self._random.randrange(300, 30_000)
        line = f"<{3 * 8 + severity}>1 {time} {host.name} {program} {pid} - - {self._filled(text)}"
        return line.encode(), is_error

    def _page_view(self, time_ms: int, is_bad: bool) -> tuple[bytes, bool]:
        is_error = self._random.random() < (0.25 if is_bad else 0.004)
        statuses = [500, 502, 503, 504] if is_error else [200] * 12 + [304] * 3 + [301, 404]
        status, size = self._random.choice(statuses), self._random.randrange(200, 60_000)
        time = _moment(time_ms).strftime("%d/%b/%Y:%H:%M:%S +0000")
        page, agent = self._random.choice(_PAGES), self._random.choice(_AGENTS)
        request = self._filled(f'10.0.{{a}}.{{b}} - - [{time}] "GET {page} HTTP/1.1"')
        return f'{request} {status} {size} "-" "{agent}"'.encode(), is_error

    def _filled(self, text: str) -> str:
        a, b = self._random.randrange(256), self._random.randrange(256)
        return text.format(a=a, b=b, port=self._random.randrange(1024, 65_536))


def _moment(time_ms: int) -> datetime:
    return datetime.fromtimestamp(time_ms / 1000, UTC)
