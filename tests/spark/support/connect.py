"""A Spark Connect server: a separate process on a free port of the loopback interface."""

import os
import re
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

import pyspark

from py.support.broker import until
from spark.support.class_data import OPTIONS
from streamlog.spark import provide_java

_SPARK = Path(pyspark.__file__).parent
_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
_STARTED = re.compile(r"Spark Connect server started at: \S+:(\d+)")
_SECONDS = 90.0
_SETTINGS = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": OPTIONS,
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.python.authenticate.socketTimeout": "120s",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}


class ConnectServer:
    """The server that Spark ships, with a local Spark."""

    def __init__(self, folder: Path) -> None:
        """Uses this folder as the working directory, in which tables are written by name."""
        self._folder = folder
        self._log = folder / "server.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """The address for clients."""
        found = _STARTED.search(self.log())
        assert found is not None, self.log()[-4000:]
        return f"sc://127.0.0.1:{found[1]}"

    def log(self) -> str:
        """Its output so far."""
        return self._log.read_text(errors="replace")

    def __enter__(self) -> Self:
        """Starts the server, and waits until it accepts connections."""
        settings = [word for pair in _SETTINGS.items() for word in ("--conf", "=".join(pair))]
        command = [str(_SPARK / "bin" / "spark-submit"), "--master", "local[2]", *settings]
        provide_java()
        environment = {"SPARK_HOME": str(_SPARK), "PYSPARK_PYTHON": sys.executable}
        with self._log.open("wb") as log:
            process = subprocess.Popen(
                [*command, "--class", _CLASS, "spark-internal"],
                cwd=self._folder,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self._process = process
        until(lambda: process.poll() is not None or bool(_STARTED.search(self.log())), _SECONDS)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stops the server."""
        assert self._process is not None
        self._process.terminate()
        self._process.wait(_SECONDS)
