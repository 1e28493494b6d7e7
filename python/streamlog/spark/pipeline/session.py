"""The Spark session of a job: a new one, or one on a Spark Connect server."""

import os
import socket
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from streamlog.errors import ConfigError, ConnectError, MissingExtra
from streamlog.spark.java import provide_java
from streamlog.spark.pipeline.job import Job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["open_session"]

_ALWAYS = {
    # Shortens triggers by a third.
    "spark.python.unix.domain.socket.enabled": "true",
    # Makes dates of folders independent of the machine.
    "spark.sql.session.timeZone": "UTC",
}
_LOCAL = {
    # A local Spark must not be reachable from other machines.
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
}


_CONNECT_PORT = 15002
_CONNECT_SECONDS = 10.0


def open_session(job: Job, *, is_watched: bool) -> "SparkSession":
    """Starts Spark, or connects to it; settings of the job override the settings made here.

    Args:
        job: The job.
        is_watched: True to show Spark's progress bar, if a user watches the terminal.

    Raises:
        MissingExtra: PySpark, its part for Spark Connect, or Java is not installed.
        ConnectError: No Spark Connect server answers at the address.
        ConfigError: A setting cannot be changed by clients of such a server.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        message = "Pipelines run on PySpark, which is missing: pip install 'pyspark>=4.2,<5'"
        raise MissingExtra(message) from error
    builder = SparkSession.Builder().appName(job.name)
    if job.is_on_connect:
        return _connected(job, builder)
    provide_java()
    builder = builder.master(job.master)
    settings = _ALWAYS | {"spark.ui.showConsoleProgress": str(is_watched).lower()}
    if job.master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        # Spark's default of 200 is meant for clusters; each partition is a task and a state store.
        settings |= _LOCAL | {"spark.sql.shuffle.partitions": str(len(os.sched_getaffinity(0)))}
    for name, value in (settings | job.spark).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _connected(job: Job, builder: "SparkSession.Builder") -> "SparkSession":
    """Returns a session on a running server, with settings that a session may change."""
    from pyspark.errors import AnalysisException

    _find(job)
    for name, value in _ALWAYS.items():
        if ".sql." in name:
            builder = builder.config(name, value)
    try:
        session = builder.remote(job.master).getOrCreate()
    except ImportError as error:
        message = "Spark Connect takes more of PySpark: pip install 'pyspark[connect]'"
        raise MissingExtra(message) from error
    for name, value in job.spark.items():
        try:
            session.conf.set(name, value)
        except AnalysisException as error:
            session.stop()
            message = f"spark: '{name}' is set where the server of Spark Connect is started"
            raise ConfigError(f"{message}: set it there, or leave it out") from error
    return session


def _find(job: Job) -> None:
    """Checks that a server answers: Spark's client would retry silently for ten minutes."""
    try:
        server = urlsplit(job.master)
        address = (server.hostname or "", server.port or _CONNECT_PORT)
    except ValueError as error:
        message = f"master: invalid value '{job.where}': expected as 'sc://HOST:15002'"
        raise ConfigError(message) from error
    endpoint = f"{address[0]}:{address[1]}"
    try:
        socket.create_connection(address, _CONNECT_SECONDS).close()
    except OSError as error:
        message = f"master: no server of Spark Connect is at {endpoint}: {error}; is it started?"
        raise ConnectError(message, [(endpoint, str(error))]) from error
