"""Atomic and durable file operations: files appear as a whole, and on disk before they are used."""

import errno
import os
from pathlib import Path

__all__ = ["flush", "make_folder", "publish", "remove", "write"]

_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS)
"""Errors of file systems without hard links."""


def write(path: Path, text: str) -> None:
    """Writes a file atomically, and replaces an existing one."""
    whole = path.with_name(f"{path.name}.{os.getpid()}.open")
    whole.write_text(text)
    flush(whole)
    whole.replace(path)
    flush(path.parent)


def publish(whole: Path, path: Path) -> None:
    """Gives a file its final name atomically, unless a file of that name exists."""
    flush(whole)
    make_folder(path.parent)
    try:
        path.hardlink_to(whole)
    except FileExistsError:
        pass
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # Two tasks may both rename their files to this name: the contents are equal.
        if not path.exists():
            whole.replace(path)
    # Flush the folder even if the name existed: its creator may have been killed before the flush.
    flush(path.parent)
    flush(path.parent.parent)
    remove(whole)


def make_folder(path: Path) -> None:
    """Creates a folder and its parents, if they are missing."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        flush(path.parent)


def remove(path: Path) -> None:
    """Removes a file if it exists."""
    path.unlink(missing_ok=True)


def flush(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
