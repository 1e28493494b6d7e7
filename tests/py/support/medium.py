"""Bit flips on the medium: pages leave the page cache, so that readers see the flipped bit."""

import ctypes
import mmap
import os
import time
from pathlib import Path

__all__ = ["flip"]

_PAGE = mmap.PAGESIZE
_TRIES = 200
_libc = ctypes.CDLL(None, use_errno=True)


def flip(path: Path, bit: int) -> bool:
    """Flips a bit of a file on its medium, counted from the first byte; a second flip undoes it.

    Returns true if its pages have left the cache, which pages of a file system in memory never do.
    """
    file = os.open(path, os.O_RDWR)
    try:
        [byte] = os.pread(file, 1, bit // 8)
        os.pwrite(file, bytes([byte ^ 1 << bit % 8]), bit // 8)
        os.fsync(file)
        for _ in range(_TRIES):
            # A page that the kernel is still using stays in the cache, without an error.
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            if not _is_cached(file):
                return True
            time.sleep(0.001)
        return False
    finally:
        os.close(file)


def _is_cached(file: int) -> bool:
    """Returns true if a page of a file is in the page cache, without reading the file."""
    size = os.fstat(file).st_size
    with mmap.mmap(file, size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE) as mapped:
        pages = (ctypes.c_ubyte * -(-size // _PAGE))()
        view = (ctypes.c_char * size).from_buffer(mapped)
        refused = _libc.mincore(ctypes.byref(view), ctypes.c_size_t(size), pages)
        del view
    assert refused == 0, os.strerror(ctypes.get_errno())
    return any(page & 1 for page in pages)
