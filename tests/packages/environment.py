"""Environments in which nothing but a wheel is installed."""

import subprocess
import sys
from pathlib import Path

__all__ = ["empty_environment", "install"]


def empty_environment(folder: Path) -> Path:
    """Creates an environment that contains only pip, and returns its Python."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    return folder / "bin" / "python"


def install(python: Path, wheel: Path) -> None:
    """Installs a wheel without access to other packages."""
    command = [str(python), "-m", "pip", "install", "--quiet", "--no-index", str(wheel)]
    subprocess.run(command, check=True)
