"""The entry point for Spark, which imports top-level modules named ``pyspark_*``.

Every Python worker of Spark imports this module, also workers that never read a topic. An exception
here would disable the data sources of all other packages too, so a failed import is not raised.
"""

from pyspark.sql.datasource import DataSource

__all__ = ["DefaultSource"]


def _source() -> type[DataSource]:
    try:
        from streamlog.spark.source import StreamlogDataSource
    except (ImportError, AttributeError):
        from pyspark_streamlog.absent import AbsentSource

        return AbsentSource
    return StreamlogDataSource


DefaultSource = _source()
