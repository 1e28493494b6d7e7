"""The folder of a load: what was planned, what is done, and who is at it.

    PATH/topic=orders/date=2026-11-21/load-000001-0-…-….parquet     what readers see
    PATH/_streamlog/load.json                    format and cluster
    PATH/_streamlog/lock                         held by the load that runs
    PATH/_streamlog/plans/000001.json            before its first file appears
    PATH/_streamlog/receipts/000001/000017.json  after the last file of range 17 has appeared
    PATH/_streamlog/done/000001.json             after the last receipt
    PATH/_streamlog/open/                        files that nobody has finished

Readers of Parquet pass over folders whose names begin with ``_``, and nothing in there ends in
``.parquet``. The newest plan is the truth: it says how far everything is planned.
"""

import fcntl
import json
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from streamlog.errors import ConfigError
from streamlog.spark.offline import durable
from streamlog.spark.offline.plan import Plan, TopicPlaces

__all__ = ["HIDDEN", "Ledger", "local_folder"]

HIDDEN = "_streamlog"
_FORMAT = 1
_KEPT = 32
"""So many plans are kept after they are done, for people who look."""


def local_folder(path: str | os.PathLike[str]) -> Path:
    """The folder that a path or a ``file:`` address means.

    Raises:
        ConfigError: It is an address of another kind.
    """
    text = os.fspath(path)
    scheme, colon, rest = text.partition(":")
    if colon and scheme == "file":
        return Path("/" + rest.lstrip("/"))
    if colon and "/" not in scheme and rest.startswith("//"):
        message = f"path: '{text}' does not fit: expected a folder of a mounted file system"
        raise ConfigError(f"{message}; for {scheme} see Spark's own sink, docs/spark/load.md")
    return Path(text).absolute()


class Ledger:
    """What the folder of a load says; nothing of it is remembered in memory."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Reads and makes nothing yet."""
        self.path = local_folder(path)
        self.hidden = self.path / HIDDEN

    @contextmanager
    def held(self, cluster: str) -> Iterator[None]:
        """Makes the folder if there is none, and keeps other loads out of it.

        Raises:
            ConfigError: Another load is at it, it has records of another cluster, or the folder
                has files that no load has made.
        """
        self._found(cluster)
        with (self.hidden / "lock").open("a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                message = f"path: another load is at '{self.path}': {lock.read().strip()}"
                raise ConfigError(f"{message}; wait for its end, or load elsewhere") from None
            lock.truncate(0)
            lock.write(f"process {os.getpid()} on {socket.gethostname()}\n")
            lock.flush()
            self._check_cluster(cluster)
            yield

    def newest(self) -> Plan | None:
        """The newest plan, done or not."""
        numbers = self._numbers("plans")
        if not numbers:
            return None
        return Plan.from_json(self._file("plans", max(numbers)).read_text())

    def places(self) -> dict[str, TopicPlaces]:
        """How far everything is planned."""
        plan = self.newest()
        return {} if plan is None else plan.places

    def unfinished(self) -> Plan | None:
        """The plan that was begun and is not done, if there is one."""
        plan = self.newest()
        return None if plan is None or plan.number in self._numbers("done") else plan

    def finished(self) -> int:
        """The number of the newest plan that is done, as all before it are; 0 if there is none."""
        return max(self._numbers("done"), default=0)

    def begin(self, plan: Plan) -> None:
        """Keeps a plan: from here on it will be carried out, and no other."""
        assert self.unfinished() is None, f"plan {plan.number} before the one in hand is done"
        durable.write(self._file("plans", plan.number), plan.to_json())

    def receipts(self, plan: Plan) -> dict[int, str]:
        """What became of the ranges that are done, by their index."""
        files = self._receipts(plan.number).glob("*.json")
        return {int(path.stem): path.read_text() for path in files}

    def receive(self, plan: Plan, index: int, receipt: str) -> None:
        """Keeps that a range is done."""
        durable.make_folder(self._receipts(plan.number))
        path = self._receipts(plan.number) / f"{index:06}.json"
        durable.write(path, receipt)

    def finish(self, plan: Plan, summary: dict[str, Any]) -> None:
        """Keeps that a plan is done, and tidies up after it."""
        durable.write(self._file("done", plan.number), json.dumps(summary, indent=1))
        shutil.rmtree(self._receipts(plan.number), ignore_errors=True)
        self.sweep()
        for number in sorted(self._numbers("plans"))[:-_KEPT]:
            durable.remove(self._file("plans", number))
            durable.remove(self._file("done", number))

    def sweep(self) -> None:
        """Removes the files that nobody has finished.

        A task left over from a killed load may still be writing one: it then fails, or it gives
        its file the name that the load's own task gives it too.
        """
        shutil.rmtree(self.hidden / "open", ignore_errors=True)

    def _found(self, cluster: str) -> None:
        about = self.hidden / "load.json"
        if about.is_file():
            return
        if self.path.is_dir() and any(path.name != HIDDEN for path in self.path.iterdir()):
            message = f"path: '{self.path}' has files that no load has made"
            raise ConfigError(f"{message}: give it a folder of its own")
        for name in ("plans", "done", "receipts"):
            durable.make_folder(self.hidden / name)
        durable.write(about, json.dumps({"format": _FORMAT, "cluster": cluster}))

    def _check_cluster(self, cluster: str) -> None:
        about = json.loads((self.hidden / "load.json").read_text())
        if about["format"] != _FORMAT:
            message = f"path: '{self.path}' has format {about['format']}, expected {_FORMAT}"
            raise ConfigError(f"{message}: a later release has made it")
        if about["cluster"] != cluster:
            message = f"path: '{self.path}' has the records of cluster {about['cluster']}"
            raise ConfigError(f"{message}, not of {cluster}: load into another folder")

    def _numbers(self, kind: str) -> set[int]:
        return {int(path.stem) for path in (self.hidden / kind).glob("*.json")}

    def _file(self, kind: str, number: int) -> Path:
        return self.hidden / kind / f"{number:06}.json"

    def _receipts(self, number: int) -> Path:
        return self.hidden / "receipts" / f"{number:06}"
