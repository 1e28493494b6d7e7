"""Installation of the programs and jars that peers need, and their paths."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from study.errors import StudyError

ROOT = Path(__file__).parents[2]
KAFKA = ROOT / "tests" / "differential"
KAFKA_JARS = ROOT / "target" / "differential"
LOADS = ROOT / "bench" / "study" / "java"
STUDY_JARS = ROOT / "target" / "study" / "jars"
STUDY_CLASSES = ROOT / "target" / "study" / "java" / "classes"


def java() -> list[str]:
    """The command of Java, without options from the environment that change measurements."""
    return ["env", "-u", "JAVA_TOOL_OPTIONS", "-u", "_JAVA_OPTIONS", "java"]


def java_classes() -> str:
    """The class path of the load generators in Java."""
    return f"{STUDY_CLASSES}:{STUDY_JARS}/*"


def install_packages(packages: Iterable[tuple[str, str]]) -> None:
    """Installs the Debian packages whose commands are missing; only root can.

    Their services are not started: the study starts each server itself.
    """
    lacking = sorted({name for command, name in packages if not shutil.which(command)})
    if not lacking or os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    print(f"installing {', '.join(lacking)}", file=sys.stderr)
    silent = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *lacking]
    for words in (["apt-get", "update", "-qq"], install):
        subprocess.run(words, env=silent, stdout=subprocess.DEVNULL, check=False)


def fetch(folders: Iterable[Path]) -> None:
    """Runs the Makefiles that fetch jars; each does nothing if they are there."""
    for folder in folders:
        words = ["make", "--no-print-directory", "--quiet", "-C", str(folder)]
        if subprocess.run(words, stdout=sys.stderr).returncode != 0:
            raise StudyError(f"`make -C {folder.relative_to(ROOT)}` failed")
