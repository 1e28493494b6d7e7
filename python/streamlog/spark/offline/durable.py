"""Files that are whole or not there, and on the disk before anyone is told of them."""

import errno
import os
from pathlib import Path

__all__ = ["flush", "make_folder", "publish", "remove", "write"]

_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS)
"""What file systems without hard links answer."""


def write(path: Path, text: str) -> None:
    """Puts a file in its place, for the one there was if any, in one step."""
    whole = path.with_name(f"{path.name}.{os.getpid()}.open")
    whole.write_text(text)
    flush(whole)
    whole.replace(path)
    flush(path.parent)


def publish(whole: Path, path: Path) -> None:
    """Gives a file its name in one step, unless there is one of this name: that one stays."""
    flush(whole)
    make_folder(path.parent)
    try:
        path.hardlink_to(whole)
    except FileExistsError:
        pass
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # Here two tasks at the same file could both find no name: they rename equal files.
        if not path.exists():
            whole.replace(path)
    # Also when the name was there: whoever gave it may have been killed before this.
    flush(path.parent)
    flush(path.parent.parent)
    remove(whole)


def make_folder(path: Path) -> None:
    """Makes a folder, and those around it, if they are not there."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(exist_ok=True)
        flush(path.parent)


def remove(path: Path) -> None:
    """Removes a file that may be gone."""
    path.unlink(missing_ok=True)


def flush(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
