"""Topics as tables and streams of Spark, ``format("streamlog")``, and as files of Parquet."""

from streamlog.spark.offline import Load, Loss, load, loaded
from streamlog.spark.source import StreamlogDataSource

__all__ = ["Load", "Loss", "StreamlogDataSource", "load", "loaded"]
