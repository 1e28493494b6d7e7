"""A session on `local-cluster`, whose executors are separate processes that can be killed."""

import os
import sys
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from streamlog.spark import provide_java

MASTER = "local-cluster[2,1,1024]"
"""Two workers with one core and 1024 MB each; master and workers are threads of the driver."""


def session(folder: Path, name: str) -> SparkSession:
    """Creates a session with scratch files in `folder`. A process can have only one."""
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_WORKER_DIR"] = str(folder / "work")
    os.environ["SPARK_LOCAL_DIRS"] = str(folder / "scratch")
    provide_java()
    builder = SparkSession.Builder().master(MASTER).appName(name)
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.sql.shuffle.partitions": "2",
        # Executors are killed on purpose, which must not fail the job.
        "spark.task.maxFailures": "1000",
        "spark.deploy.maxExecutorRetries": "-1",
        "spark.excludeOnFailure.enabled": "false",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
