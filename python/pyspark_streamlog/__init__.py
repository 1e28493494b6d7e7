"""What Spark looks for: the data source of a top-level module named ``pyspark_*``.

Every Python worker of Spark imports it, also those that never read a topic, and one that cannot be
imported would take the sources of all other packages with it.
"""

from pyspark.sql.datasource import DataSource

__all__ = ["DefaultSource"]


def _found() -> type[DataSource]:
    try:
        from streamlog.spark.source import StreamlogDataSource
    except (ImportError, AttributeError):
        from pyspark_streamlog.absent import AbsentSource

        return AbsentSource
    return StreamlogDataSource


DefaultSource = _found()
