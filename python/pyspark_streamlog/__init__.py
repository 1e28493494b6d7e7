"""What Spark looks for: the data source of a top-level module named ``pyspark_*``.

Every Python worker of Spark imports it, also those that never read a topic.
"""

from streamlog.spark import StreamlogDataSource as DefaultSource

__all__ = ["DefaultSource"]
