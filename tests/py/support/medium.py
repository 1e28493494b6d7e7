"""Bits that flip on the medium: the file's pages leave the cache, and who reads it finds them."""

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
    """Flips one bit of a file on its medium, counted from its first byte; again puts it back.

    Returns whether its pages have left the cache, which those of a file system in memory never do.
    """
    file = os.open(path, os.O_RDWR)
    try:
        [byte] = os.pread(file, 1, bit // 8)
        os.pwrite(file, bytes([byte ^ 1 << bit % 8]), bit // 8)
        os.fsync(file)
        for _ in range(_TRIES):
            # A page that the kernel still has in hand stays for now, without an error.
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            if not _is_cached(file):
                return True
            time.sleep(0.001)
        return False
    finally:
        os.close(file)


def _is_cached(file: int) -> bool:
    """Whether any page of a file is in the page cache; unlike a read, this brings none there."""
    size = os.fstat(file).st_size
    with mmap.mmap(file, size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE) as mapped:
        pages = (ctypes.c_ubyte * -(-size // _PAGE))()
        view = (ctypes.c_char * size).from_buffer(mapped)
        refused = _libc.mincore(ctypes.byref(view), ctypes.c_size_t(size), pages)
        del view
    assert refused == 0, os.strerror(ctypes.get_errno())
    return any(page & 1 for page in pages)
