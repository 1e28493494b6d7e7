"""A folder of mails: one mail for each file in it or below it.

The folder is scanned at the interval `poll`. A file is read as soon as it is complete: when it was
renamed into the folder, or no process has it open for writing. Linux grants a read lease on a file
only then. Without support for leases in the file system, a file counts as complete when it has not
changed for two seconds. Names that begin with a dot, or end in .part or .tmp, are ignored.

A name may be reused while its mail is being stored: the new file is then another mail, which is
left in place and read next.
"""

import errno
import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, TypeAlias

from mail.inlet.source import Waiting
from mail.topics import MAIL_BYTES

SETTLED_SECONDS = 2.0
_UNFINISHED = (".part", ".tmp")

Version: TypeAlias = tuple[int, int, int]
"""Identifies a version of a file: other files of its name, and later versions, differ."""


class Folder:
    """The files below `path`; `after` is their treatment after storing: move, remove, keep."""

    is_away = False

    def __init__(self, path: Path, after: str, done: Path, rejected: Path) -> None:
        """Creates the folders that it needs."""
        self._path = path
        self._after = after
        self._done = done
        self._rejected = rejected
        self._read: dict[str, Version] = {}
        path.mkdir(parents=True, exist_ok=True)

    def waiting(self) -> Iterator[Waiting]:
        """Yields the complete mails, sorted by name."""
        for name in sorted(self._names()):
            with suppress(FileNotFoundError):
                mail = self._mail(name)
                if mail is not None:
                    yield mail

    def stored(self, mails: list[Waiting]) -> None:
        """Moves or removes stored mails."""
        for mail in mails:
            if self._after == "keep" or not self._is_there(mail):
                continue
            if self._after == "remove":
                (self._path / mail.name).unlink()
            else:
                self._move(mail.name, self._done)

    def rejected(self, mail: Waiting, reason: str) -> None:
        """Moves a rejected mail to a separate folder, with the reason beside it."""
        if self._after == "keep" or not self._is_there(mail):
            return
        target = self._move(mail.name, self._rejected)
        target.with_name(target.name + ".reason").write_text(reason + "\n")

    def _mail(self, name: str) -> Waiting | None:
        with (self._path / name).open("rb") as file:
            version = _version(os.fstat(file.fileno()))
            if self._read.get(name) == version or not is_complete(file):
                return None
            size = version[2]
            raw = file.read() if size <= MAIL_BYTES else b""
            if _version(os.fstat(file.fileno())) != version:
                return None
        self._read[name] = version
        return Waiting(name, raw, size)

    def _is_there(self, mail: Waiting) -> bool:
        """Returns true if the file of this name is still the one that was read."""
        read = self._read.pop(mail.name)
        try:
            return _version((self._path / mail.name).stat()) == read
        except FileNotFoundError:
            return False

    def _names(self) -> Iterator[str]:
        for folder, folders, files in os.walk(self._path):
            aside = {self._done.resolve(), self._rejected.resolve()}
            folders[:] = [name for name in folders if Path(folder, name).resolve() not in aside]
            for name in files:
                if not name.startswith(".") and not name.endswith(_UNFINISHED):
                    yield Path(folder, name).relative_to(self._path).as_posix()

    def _move(self, name: str, folder: Path) -> Path:
        source, target = self._path / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            # Another mail had this name before: do not overwrite either.
            digest = hashlib.sha256(source.read_bytes()).hexdigest()[:16]
            target = target.with_name(f"{target.stem}.{digest}{target.suffix}")
        shutil.move(source, target)
        return target


def _version(file: os.stat_result) -> Version:
    return file.st_ino, file.st_mtime_ns, file.st_size


def is_complete(file: BinaryIO) -> bool:
    """Returns true if no process has this file, opened for reading, open for writing."""
    try:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        if error.errno == errno.EAGAIN:
            return False
        return time.time() - os.fstat(file.fileno()).st_mtime > SETTLED_SECONDS
    else:
        return True
