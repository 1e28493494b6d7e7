"""File systems of brokers that lose power."""

import fcntl
import os
import struct
import subprocess
from pathlib import Path

SIZE = 1 << 30
SHUTDOWN = 0x8004587D
"""FS_IOC_SHUTDOWN."""
WITHOUT_LOG_FLUSH = 2


class Volume:
    """An ext4 in a sparse file, mounted through a loop device."""

    def __init__(self, image: Path, folder: Path) -> None:
        """Makes and mounts it."""
        self.image = image
        self.folder = folder
        folder.mkdir()
        with image.open("wb") as file:
            file.truncate(SIZE)
        subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True, capture_output=True)
        self.mount()

    def mount(self) -> None:
        """Mounts it; the journal is replayed after a loss of power."""
        command = ["mount", "-o", "loop", str(self.image), str(self.folder)]
        subprocess.run(command, check=True, capture_output=True)

    def cut_power(self) -> None:
        """Loses everything that has not reached the disk; no process may be writing."""
        descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, SHUTDOWN, struct.pack("I", WITHOUT_LOG_FLUSH))
        finally:
            os.close(descriptor)

    def remount(self) -> None:
        """Unmounts and mounts it again, so that only the medium counts."""
        subprocess.run(["umount", str(self.folder)], check=True, capture_output=True)
        self.mount()

    def close(self) -> None:
        """Unmounts it; the image stays."""
        subprocess.run(["umount", "-l", str(self.folder)], check=False, capture_output=True)
