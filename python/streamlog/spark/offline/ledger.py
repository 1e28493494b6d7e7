"""The folder of a load: its plans, finished ranges, and lock.

    PATH/topic=orders/date=2026-11-21/load-000001-0-…-….parquet     visible to readers
    PATH/_streamlog/load.json                    format and cluster
    PATH/_streamlog/lock                         held by the load that runs
    PATH/_streamlog/plans/000001.json            before its first file appears
    PATH/_streamlog/receipts/000001/000017.json  after the last file of range 17 has appeared
    PATH/_streamlog/done/000001.json             after the last receipt
    PATH/_streamlog/open/                        unfinished files

Readers of Parquet ignore folders whose names begin with ``_``, and no file in this folder ends in
``.parquet``. The newest plan is authoritative: it has the offsets up to which all records are
planned.
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
from streamlog.spark.offline.plan import Plan, TopicPositions

__all__ = ["HIDDEN", "Ledger", "local_folder"]

HIDDEN = "_streamlog"
_FORMAT = 1
_KEPT = 32
"""The number of finished plans to keep, for inspection."""


def local_folder(path: str | os.PathLike[str]) -> Path:
    """Returns the folder of a path or a ``file:`` address.

    Raises:
        ConfigError: It is another kind of address.
    """
    text = os.fspath(path)
    scheme, colon, rest = text.partition(":")
    if colon and scheme == "file":
        return Path("/" + rest.lstrip("/"))
    if colon and "/" not in scheme and rest.startswith("//"):
        message = f"path: invalid value '{text}': expected a folder of a mounted file system"
        raise ConfigError(f"{message}; for {scheme} see Spark's own sink, docs/spark/load.md")
    return Path(text).absolute()


class Ledger:
    """The state of a load in its folder; nothing is cached in memory."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Does not read or create anything yet."""
        self.path = local_folder(path)
        self.hidden = self.path / HIDDEN

    @contextmanager
    def held(self, cluster: str) -> Iterator[None]:
        """Creates the folder if it is missing, and locks out other loads.

        Raises:
            ConfigError: Another load holds the lock, or the folder has records of another cluster,
                or files that no load has written.
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
        """Returns the newest plan, finished or not."""
        numbers = self._numbers("plans")
        if not numbers:
            return None
        return Plan.from_json(self._file("plans", max(numbers)).read_text())

    def places(self) -> dict[str, TopicPositions]:
        """Returns the offsets up to which all records are planned."""
        plan = self.newest()
        return {} if plan is None else plan.places

    def unfinished(self) -> Plan | None:
        """Returns the plan that was begun and is not finished, if there is one."""
        plan = self.newest()
        return None if plan is None or plan.number in self._numbers("done") else plan

    def finished(self) -> int:
        """Returns the number of the newest finished plan; 0 if there is none."""
        return max(self._numbers("done"), default=0)

    def begin(self, plan: Plan) -> None:
        """Stores a plan: from now on, this plan and no other is executed."""
        assert self.unfinished() is None, f"plan {plan.number} before the one in hand is done"
        durable.write(self._file("plans", plan.number), plan.to_json())

    def receipts(self, plan: Plan) -> dict[int, str]:
        """Returns the outcomes of finished ranges, by their index."""
        files = self._receipts(plan.number).glob("*.json")
        return {int(path.stem): path.read_text() for path in files}

    def receive(self, plan: Plan, index: int, receipt: str) -> None:
        """Stores the outcome of a finished range."""
        durable.make_folder(self._receipts(plan.number))
        path = self._receipts(plan.number) / f"{index:06}.json"
        durable.write(path, receipt)

    def finish(self, plan: Plan, summary: dict[str, Any]) -> None:
        """Marks a plan as finished, and removes its receipts."""
        durable.write(self._file("done", plan.number), json.dumps(summary, indent=1))
        shutil.rmtree(self._receipts(plan.number), ignore_errors=True)
        self.sweep()
        for number in sorted(self._numbers("plans"))[:-_KEPT]:
            durable.remove(self._file("plans", number))
            durable.remove(self._file("done", number))

    def sweep(self) -> None:
        """Removes unfinished files.

        A task left over from a killed load may still be writing an unfinished file. The task then
        fails, or its finished file has the name and contents that this load's own task would give
        it.
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
