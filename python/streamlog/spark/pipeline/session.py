"""The session of Spark that a job runs in."""

import os
import sys
from typing import TYPE_CHECKING

from streamlog.errors import MissingExtra
from streamlog.spark.java import provide_java
from streamlog.spark.pipeline.job import Job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["open_session"]

_ALWAYS = {
    # A trigger takes a third less time with it.
    "spark.python.unix.domain.socket.enabled": "true",
    # The source then reads only the offsets, times and partitions that are asked for.
    "spark.sql.python.filterPushdown.enabled": "true",
    # Dates of folders do not depend on the machine.
    "spark.sql.session.timeZone": "UTC",
}
_LOCAL = {
    # Nobody else is to reach a Spark that is all on this machine.
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
}


def open_session(job: Job, *, is_watched: bool) -> "SparkSession":
    """Starts Spark, or connects to it; what the job sets wins over what is set here.

    Args:
        job: The job.
        is_watched: Whether somebody looks at the terminal, so that Spark draws its bar.

    Raises:
        MissingExtra: PySpark, or Java, is not installed.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        message = "PySpark is missing, which pipelines run on: pip install 'streamlog[spark]'"
        raise MissingExtra(message) from error
    builder = SparkSession.Builder().appName(job.name)
    settings = dict(_ALWAYS)
    if job.master.startswith("sc://"):
        builder = builder.remote(job.master)
        # Of a server that runs already only a session's own settings can be set.
        settings = {name: value for name, value in settings.items() if ".sql." in name}
    else:
        provide_java()
        builder = builder.master(job.master)
        settings["spark.ui.showConsoleProgress"] = str(is_watched).lower()
        if job.master.startswith("local"):
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
            # Spark's own 200 suit a cluster; each is a task, and a store of a stream's state.
            settings |= _LOCAL | {"spark.sql.shuffle.partitions": str(len(os.sched_getaffinity(0)))}
    for name, value in (settings | job.spark).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
